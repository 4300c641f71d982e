/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command itself follows the counters, as it knows no adapter: the writer of the tree leaves it a list
 * (INDEX) of the ports, a line each: name of the row in the host directory, driver or PORT, folder in the tree. Files
 * are overwritten in place, since a facade of mounts shows the file that was there at the start.
 */
#include "hw_counters.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/port_counts.h"
#include "hca/device/counters.h"
#include "hca/device/port_counts.h"
#include "hca/device/work.h"
#include "util/api.h"
#include "util/file_limit.h"

#define INDEX "hw_counters"
#define MOST  32 /* folders that are followed */

#define REQ(status)  (HCA_COUNT_REQ_STATUS + HCA_##status)
#define RESP(status) (HCA_COUNT_RESP_STATUS + HCA_##status)

/* The sum of [from, to] of a row, in units of 1 << shift. */
struct counter {
	const char *name;
	uint8_t from, to;
	uint8_t shift;
};

#define ONE(name, count)                                                                           \
	{                                                                                          \
		name, count, count, 0                                                              \
	}

/*
 * Of mlx5, but for what cannot be counted: requests that the responder received (rx_*_requests), since a
 * process of this host reads and writes mapped memory by itself.
 */
static const struct counter mlx5[] = {
	ONE("duplicate_request", HCA_COUNT_DUPLICATE),
	ONE("implied_nak_seq_err", HCA_COUNT_READ_GAP),
	ONE("local_ack_timeout_err", HCA_COUNT_ACK_TIMEOUT),
	ONE("np_cnp_sent", HCA_COUNT_CNP_SENT),
	ONE("np_ecn_marked_roce_packets", HCA_COUNT_ECN_MARKED),
	ONE("out_of_buffer", HCA_COUNT_OUT_OF_BUFFER),
	ONE("out_of_sequence", HCA_COUNT_OUT_OF_SEQUENCE),
	ONE("packet_seq_err", HCA_COUNT_SEQ_NAK),
	{ "req_cqe_error", HCA_COUNT_REQ_STATUS, HCA_COUNT_RESP_STATUS - 1, 0 },
	ONE("req_cqe_flush_error", REQ(WR_FLUSH_ERR)),
	ONE("req_remote_access_errors", REQ(REM_ACCESS_ERR)),
	ONE("req_remote_invalid_request", REQ(REM_INV_REQ_ERR)),
	{ "resp_cqe_error", HCA_COUNT_RESP_STATUS, HCA_COUNTS - 1, 0 },
	ONE("resp_cqe_flush_error", RESP(WR_FLUSH_ERR)),
	ONE("resp_local_length_error", RESP(LOC_LEN_ERR)),
	ONE("resp_remote_access_errors", HCA_COUNT_REFUSED_ACCESS),
	ONE("rnr_nak_retry_err", HCA_COUNT_RNR_NAK),
	ONE("rp_cnp_handled", HCA_COUNT_CNP_HANDLED),
};

/* Diagnostic counters of mlx4, of send queues (sq) and receive queues (rq). */
static const struct counter mlx4[] = {
	ONE("rq_num_dup", HCA_COUNT_DUPLICATE),      ONE("rq_num_lle", RESP(LOC_LEN_ERR)),
	ONE("rq_num_lpe", RESP(LOC_PROT_ERR)),       ONE("rq_num_oos", HCA_COUNT_OUT_OF_SEQUENCE),
	ONE("rq_num_rae", HCA_COUNT_REFUSED_ACCESS), ONE("rq_num_rire", HCA_COUNT_REFUSED_INVALID),
	ONE("rq_num_rnr", HCA_COUNT_RNR_SENT),       ONE("rq_num_wrfe", RESP(WR_FLUSH_ERR)),
	ONE("sq_num_bre", REQ(BAD_RESP_ERR)),        ONE("sq_num_lle", REQ(LOC_LEN_ERR)),
	ONE("sq_num_lpe", REQ(LOC_PROT_ERR)),        ONE("sq_num_lqpoe", REQ(LOC_QP_OP_ERR)),
	ONE("sq_num_mwbe", REQ(MW_BIND_ERR)),        ONE("sq_num_oos", HCA_COUNT_SEQ_NAK),
	ONE("sq_num_rae", REQ(REM_ACCESS_ERR)),      ONE("sq_num_rire", REQ(REM_INV_REQ_ERR)),
	ONE("sq_num_rnr", HCA_COUNT_RNR_NAK),        ONE("sq_num_roe", REQ(REM_OP_ERR)),
	ONE("sq_num_rree", REQ(RNR_RETRY_EXC_ERR)),  ONE("sq_num_to", HCA_COUNT_ACK_TIMEOUT),
	ONE("sq_num_tree", REQ(RETRY_EXC_ERR)),      ONE("sq_num_wrfe", REQ(WR_FLUSH_ERR)),
};

#define TRAFFIC(count) (FABRIC_PORT_TRAFFIC + FABRIC_##count)

/* Of counters/, those that traffic moves; data in units of 4 bytes. */
static const struct counter port_counters[] = {
	ONE("multicast_rcv_packets", TRAFFIC(RX_MULTICAST)),
	ONE("multicast_xmit_packets", TRAFFIC(TX_MULTICAST)),
	{ "port_rcv_data", TRAFFIC(RX_BYTES), TRAFFIC(RX_BYTES), 2 },
	{ "port_rcv_packets", TRAFFIC(RX_UNICAST), TRAFFIC(RX_MULTICAST), 0 },
	{ "port_xmit_data", TRAFFIC(TX_BYTES), TRAFFIC(TX_BYTES), 2 },
	{ "port_xmit_packets", TRAFFIC(TX_UNICAST), TRAFFIC(TX_MULTICAST), 0 },
	ONE("unicast_rcv_packets", TRAFFIC(RX_UNICAST)),
	ONE("unicast_xmit_packets", TRAFFIC(TX_UNICAST)),
};

#define PORT "port"

static const struct counter *table_of(const char *driver, size_t *count)
{
	bool first = !strncmp(driver, "mlx4", 4);

	if (!strcmp(driver, PORT)) {
		*count = array_size(port_counters);
		return port_counters;
	}
	*count = first ? array_size(mlx4) : array_size(mlx5);
	return first ? mlx4 : mlx5;
}

/* Writes a folder's files; `driver` or PORT says which. */
static void write_folder(const struct tree_dir *port, const struct adapter_fact *fact, int number,
			 const char *folder, const char *driver)
{
	char row[HCA_PORT_COUNTS_NAME], line[1024];
	const struct counter *table;
	struct tree_dir d;
	size_t count;
	int fd, n;

	tree_dir_below(&d, port, "%s", folder);
	table = table_of(driver, &count);
	for (size_t i = 0; i < count; i++)
		tree_dir_file(&d, table[i].name, "0\n");
	hca_port_counts_name(fact->name, (unsigned int)number, row);
	n = snprintf(line, sizeof(line), "%s %s %s\n", row, driver, d.path);
	fd = openat(port->tree->fd, INDEX, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return; /* the files stay as they are */
	if (file_append(fd, line, (size_t)n))
		unlinkat(port->tree->fd, INDEX, 0);
	close(fd);
}

void hw_counters_write(const struct tree_dir *port, const struct adapter_fact *fact, int number)
{
	struct tree_dir d;

	write_folder(port, fact, number, "counters", PORT);
	write_folder(port, fact, number, "hw_counters", fact->driver);
	/* No counter: how long the kernel keeps what it has read, in ms. */
	tree_dir_below(&d, port, "hw_counters");
	tree_dir_file(&d, "lifespan", "10\n");
}

_Static_assert(HCA_PORT_COUNTS_NAME == 72, "a row's name fits its place");

struct followed {
	char row[HCA_PORT_COUNTS_NAME];
	const struct counter *table;
	size_t count;
	int dir;
	uint64_t earlier[FABRIC_PORT_COUNTS]; /* by directories that are gone */
	uint64_t shown[FABRIC_PORT_COUNTS];   /* by index in the table */
};

struct hw_counters {
	struct fabric_counts_view view;
	size_t count;
	struct followed port[MOST];
};

static bool add(struct hw_counters *c, struct tree *t, const char *row, const char *driver,
		const char *path)
{
	struct followed *f = &c->port[c->count];

	f->dir = openat(t->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0)
		return false;
	snprintf(f->row, sizeof(f->row), "%s", row);
	f->table = table_of(driver, &f->count);
	c->count++;
	return true;
}

struct hw_counters *hw_counters_open(struct tree *t)
{
	char row[HCA_PORT_COUNTS_NAME], driver[16], path[512];
	struct hw_counters *c;
	FILE *list;
	int fd = openat(t->fd, INDEX, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	list = fdopen(fd, "r");
	c = calloc(1, sizeof(*c));
	if (!list || !c) {
		free(c);
		close(fd);
		return NULL;
	}
	while (c->count < MOST && fscanf(list, "%71s %15s %511s", row, driver, path) == 3)
		if (!add(c, t, row, driver, path))
			break;
	fclose(list);
	hw_counters_follow(c);
	return c;
}

static void show(const struct followed *f, size_t i, uint64_t value)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	const char *name = f->table[i].name;
	int fd;

	/* To programs it is read-only. */
	fchmodat(f->dir, name, 0644, 0);
	fd = openat(f->dir, name, O_WRONLY | O_CLOEXEC);
	fchmodat(f->dir, name, 0444, 0);

	/* A counter never gets shorter. A file that cannot be written stays as it is. */
	if (fd >= 0) {
		file_write_at(fd, text, (size_t)n, 0);
		close(fd);
	}
}

static void follow_port(struct hw_counters *c, struct followed *f)
{
	uint64_t now[FABRIC_PORT_COUNTS];

	fabric_counts_view_read(&c->view, f->row, now);
	for (size_t i = 0; i < f->count; i++) {
		uint64_t sum = 0;

		for (unsigned int k = f->table[i].from; k <= f->table[i].to; k++)
			sum += now[k] + f->earlier[k];
		sum >>= f->table[i].shift;
		/* Counts that move within the directory are missed for a moment. */
		if (sum <= f->shown[i])
			continue;
		show(f, i, sum);
		f->shown[i] = sum;
	}
}

/* The host's last process took the directory away: what it had counted stays counted. */
static void change_directory(struct hw_counters *c)
{
	uint64_t old[FABRIC_PORT_COUNTS];

	for (size_t i = 0; i < c->count; i++) {
		struct followed *f = &c->port[i];

		fabric_counts_view_read(&c->view, f->row, old);
		for (unsigned int k = 0; k < FABRIC_PORT_COUNTS; k++)
			f->earlier[k] += old[k];
	}
	fabric_counts_view_update(&c->view);
}

void hw_counters_follow(struct hw_counters *c)
{
	if (!fabric_counts_view_is_current(&c->view))
		change_directory(c);
	for (size_t i = 0; i < c->count; i++)
		follow_port(c, &c->port[i]);
}

void hw_counters_close(struct hw_counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		close(c->port[i].dir);
	free(c);
}
