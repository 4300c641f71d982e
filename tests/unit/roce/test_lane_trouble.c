/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes that are refused something: what leaves by them all the same is right. */
#include "cmocka_all.h"

#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sys/mman.h>

#include "lane.h"

/* ---- refusals ---- */

/* The kernel makes no segments without check sums, and takes all else. */
static void refuse_segments(const struct lane *l)
{
	const struct roce_source *s = source_of(l);
	int one = 1;

	if (l->p.a->ipv4)
		assert_int_equal(setsockopt(s->fd, SOL_SOCKET, SO_NO_CHECK, &one, 4), 0);
	else
		assert_int_equal(setsockopt(s->fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, 4), 0);
}

static void *flush_on_thread(void *arg)
{
	struct lane *l = arg;

	return roce_tx_flush(l->p.tx) || roce_tx_pending(l->p.tx) ? "not sent" : NULL;
}

/* With a stack that lies below the batch, where there is room: stacks of threads may lie anywhere. */
static void flush_far_below(struct lane *l)
{
	size_t size = 4 << 20, below = (uintptr_t)l->p.tx - ((size_t)1 << 30);
	void *stack = mmap((void *)(below & -size), size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	void *failed;

	assert_true(stack != MAP_FAILED);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, stack, size), 0);
	assert_int_equal(pthread_create(&thread, &attr, flush_on_thread, l), 0);
	pthread_join(thread, &failed);
	pthread_attr_destroy(&attr);
	munmap(stack, size);
	assert_null(failed);
}

static void what_a_lane_refuses_as_segments_leaves_one_by_one(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_endpoint_limits limits;
		struct lane l;

		lane_init(&l, v, NULL);
		add_row(&l, 5, 64);
		flush(&l);
		see_all(&l);
		refuse_segments(&l);
		add_row(&l, 1, 64);
		add_row(&l, 5, 64);
		add_row(&l, 1, 64);
		add_row(&l, 40, 512);
		assert_int_equal(add_one(&l, 3), 0);
		add_row(&l, 2, 64);
		flush_far_below(&l);
		see_all(&l);
		roce_endpoint_limits(l.p.a, &limits);
		assert_false(limits.segment);
		add_row(&l, 9, 64);
		flush(&l);
		see_all(&l);
		pair_receive(&l.p, l.added);
		assert_int_equal(count_of(&l).tx_lost, 0);
		assert_true(source_of(&l)->connected);
		lane_fini(&l);
	}
}

/* Long rows have their length set at the socket, where it is in the way of every send then. */
static void segments_that_are_refused_once_they_are_set_leave_one_by_one(void **state)
{
	struct lane l;

	lane_init(&l, 0, NULL);
	for (unsigned int i = 0; i < 40; i++) {
		add_row(&l, 2, 64);
		flush(&l);
	}
	see_all(&l);
	assert_int_not_equal(source_of(&l)->segment, 0);
	refuse_segments(&l);
	add_row(&l, 1, 32);
	add_row(&l, 2, 64);
	add_row(&l, 1, 64);
	add_row(&l, 3, 64);
	flush(&l);
	see_all(&l);
	assert_int_equal(count_of(&l).tx_lost, 0);
	lane_fini(&l);
}

static void what_is_too_long_for_a_lane_is_lost_and_the_rest_is_right(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct lane l;

		lane_init(&l, v, NULL);
		add_row(&l, 3, 1400);
		flush(&l);
		see_all(&l);
		assert_int_equal(net_shell("ip link set va mtu 1280"), 0);
		add_row(&l, 2, 64);
		add_row(&l, 3, 1400);
		assert_int_equal(add_one(&l, 3), 0);
		add_row(&l, 1, 1400);
		add_row(&l, 2, 64);
		flush(&l);
		assert_int_equal(net_shell("ip link set va mtu 1500"), 0);
		see_one(&l);
		see_one(&l);
		l.seen += 3;
		assert_true(see_one(&l).right);
		l.seen += 1;
		see_all(&l);
		add_row(&l, 3, 1400);
		flush(&l);
		see_all(&l);
		assert_int_equal(count_of(&l).tx_lost, 4);
		assert_true(source_of(&l)->connected);
		lane_fini(&l);
	}
}

/* ---- who and what is away ---- */

/* What came back lies at the socket. */
static void wait_for_word(const struct lane *l)
{
	struct pollfd fd = { .fd = source_of(l)->fd };

	assert_int_equal(poll(&fd, 1, 30000), 1);
	assert_true(fd.revents & POLLERR);
}

static void a_peer_that_comes_back_misses_nothing_from_then_on(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct lane l;

		lane_init(&l, v, NULL);
		add_row(&l, 2, 64);
		flush(&l);
		see_all(&l);
		for (unsigned int away = 0; away < 2; away++) {
			roce_endpoint_close(l.p.b);
			/* The one is told of what came back for the other. */
			for (unsigned int i = 0; i < 2; i++) {
				add_row(&l, 1, 64);
				flush(&l);
				wait_for_word(&l);
			}
			l.p.b = far_open(hosts[v].b, NULL);
			inbox_clear(&l.p.in);
			add_row(&l, 3, 64);
			add_row(&l, 1, 64);
			flush(&l);
			pair_receive(&l.p, 4);
			see_all(&l);
		}
		assert_int_equal(count_of(&l).tx_lost, 0);
		assert_true(source_of(&l)->connected);
		lane_fini(&l);
	}
}

/* Of packets that leave one by one, each may be told of what came back for the one before. */
static void what_comes_back_for_one_packet_does_not_harm_the_next(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct lane l;

		lane_init(&l, v, NULL);
		add_row(&l, 1, 64);
		flush(&l);
		see_all(&l);
		roce_endpoint_close(l.p.b);
		refuse_segments(&l);
		add_row(&l, 20, 64);
		add_row(&l, 3, 64);
		add_row(&l, 1, 64);
		flush(&l);
		see_all(&l);
		assert_int_equal(count_of(&l).tx_lost, 0);
		l.p.b = NULL;
		lane_fini(&l);
	}
}

/* "Nobody listens at the port", for a packet of the lane. */
struct word {
	struct icmphdr icmp;
	struct iphdr ip;
	struct udphdr udp;
};

static uint16_t sum_of(const void *data, size_t len)
{
	uint16_t word;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2) {
		memcpy(&word, (const char *)data + i, 2);
		sum += word;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static struct word word_for(const struct lane *l)
{
	struct word w = {
		.icmp = { .type = ICMP_DEST_UNREACH, .code = ICMP_PORT_UNREACH },
		.ip = { .version = 4,
			.ihl = 5,
			.tot_len = htons(100),
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.saddr = inet_addr(A4),
			.daddr = inet_addr(B4) },
		.udp = { .source = htons(l->p.path.sport),
			 .dest = htons(ROCE_UDP_PORT),
			 .len = htons(80) },
	};

	w.ip.check = sum_of(&w.ip, sizeof(w.ip));
	w.icmp.checksum = sum_of(&w, sizeof(w));
	return w;
}

struct teller {
	struct word word;
	int fd;
	atomic_bool done;
	atomic_uint told;
};

static void *tell(void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(A4) };
	struct teller *t = arg;

	while (!atomic_load(&t->done))
		if (sendto(t->fd, &t->word, sizeof(t->word), 0, (struct sockaddr *)&to,
			   sizeof(to)) == sizeof(t->word))
			atomic_fetch_add(&t->told, 1);
	return NULL;
}

/* Anybody can send that, at any time. The lane may not outlive it, but what it sends does. */
static void a_lane_that_is_told_all_the_time_that_nobody_listens_loses_nothing(void **state)
{
	static struct teller t; /* outlives a test that fails, as its thread does */
	struct roce_counters count;
	pthread_t thread;
	struct lane l;

	lane_init(&l, 0, NULL);
	t.word = word_for(&l);
	go(ns_b);
	t.fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	go(ns_a);
	assert_true(t.fd >= 0);
	assert_int_equal(pthread_create(&thread, NULL, tell, &t), 0);
	for (unsigned int i = 0; atomic_load(&t.told) < 5000; i++) {
		add_row(&l, 1 + i % 3, 64);
		flush(&l);
		see_all(&l);
		pair_drain(&l.p);
		inbox_clear(&l.p.in);
	}
	atomic_store(&t.done, true);
	pthread_join(thread, NULL);
	count = count_of(&l);
	assert_int_equal(count.tx_packets, l.added);
	assert_int_equal(count.tx_lost, 0);
	close(t.fd);
	lane_fini(&l);
}

static void a_lane_without_a_way_loses_packets_until_there_is_one(void **state)
{
	static const char *const ways[] = { "10.8.0.0/24 dev va src " A4, "fd08::/64 dev va" };

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct lane l;

		lane_init(&l, v, NULL);
		add_row(&l, 2, 64);
		flush(&l);
		see_all(&l);
		assert_int_equal(net_shell("ip route del %s", ways[v]), 0);
		add_row(&l, 3, 64);
		add_row(&l, 1, 64);
		flush(&l);
		assert_int_equal(count_of(&l).tx_lost, 4);
		assert_int_equal(net_shell("ip route add %s", ways[v]), 0);
		l.seen += 4;
		add_row(&l, 3, 64);
		add_row(&l, 1, 64);
		flush(&l);
		see_all(&l);
		assert_int_equal(count_of(&l).tx_lost, 4);
		assert_true(source_of(&l)->connected);
		lane_fini(&l);
	}
}

/* What it cannot be told of meanwhile dissolves the lane. */
static void a_host_that_was_without_its_address_sends_by_its_lanes_again(void **state)
{
	struct lane l;

	lane_init(&l, 0, NULL);
	add_row(&l, 2, 64);
	flush(&l);
	see_all(&l);
	assert_int_equal(net_shell("ip addr del " A4 "/24 dev va"), 0);
	add_row(&l, 3, 64);
	add_row(&l, 1, 64);
	flush(&l);
	assert_int_equal(net_shell("ip addr add " A4 "/24 dev va"), 0);
	assert_int_equal(count_of(&l).tx_lost, 4);
	l.seen += 4;
	add_row(&l, 3, 64);
	add_row(&l, 1, 64);
	flush(&l);
	see_all(&l);
	lane_fini(&l);
}

/* ---- full sockets ---- */

/* Nobody is there, but it may be said where it is. */
static const char *const absent[] = { "10.8.0.77", "fd08::77" };

static void tell_where(const char *host)
{
	assert_int_equal(
		net_shell("ip neigh replace %s lladdr " MAC_B " dev va nud permanent", host), 0);
}

static void forget_where(const char *host)
{
	assert_int_equal(net_shell("ip neigh del %s dev va", host), 0);
}

/* Adds until nothing more is taken, since packets wait for where they have to go. */
static void fill(struct lane *l)
{
	int err = 0;

	for (unsigned int i = 0; i < 10000 && !err; i++) {
		if (i % 8 == 0)
			l->dqpn += BLOCK;
		err = add_one(l, 1024);
	}
	assert_int_equal(err, -EAGAIN);
	assert_int_equal(roce_tx_flush(l->p.tx), -EAGAIN);
	assert_true(count_of(l).tx_full > 0);
}

static void flush_slowly(struct lane *l)
{
	struct pollfd fd = { .fd = source_of(l)->fd, .events = POLLOUT };

	while (roce_tx_flush(l->p.tx) == -EAGAIN)
		assert_int_equal(poll(&fd, 1, 30000), 1);
	assert_int_equal(roce_tx_pending(l->p.tx), 0);
}

static void check_full(size_t v, bool doubt, bool refuse, const struct roce_endpoint_opts *opts)
{
	struct lane l;

	/* They are sought for as long as a busy machine takes. */
	net_write_file("/proc/sys/net/ipv4/neigh/va/mcast_solicit", "10000");
	net_write_file("/proc/sys/net/ipv6/neigh/va/mcast_solicit", "10000");
	lane_init_to(&l, v, absent[v], opts);
	if (refuse)
		refuse_segments(&l);
	for (unsigned int round = 0; round < 2; round++) {
		fill(&l);
		if (doubt) {
			roce_path_doubt(&l.p.path, l.p.a);
			assert_int_equal(roce_tx_flush(l.p.tx), -EAGAIN);
		}
		tell_where(absent[v]);
		flush_slowly(&l);
		see_all(&l);
		forget_where(absent[v]);
		assert_true(source_of(&l)->connected);
	}
	assert_int_equal(count_of(&l).tx_lost, 0);
	lane_fini(&l);
}

static void what_a_full_lane_did_not_take_leaves_once_and_right(void **state)
{
	struct roce_endpoint_opts opts = { .sndbuf = 1 };

	for (size_t v = 0; v < array_size(hosts); v++) {
		opts.no_segment = false;
		check_full(v, false, false, &opts);
		check_full(v, false, true, &opts);
		opts.no_segment = true;
		check_full(v, false, false, &opts);
	}
}

/* Its ids cannot be looked up then; that comes later. */
static void a_full_lane_may_be_doubted(void **state)
{
	struct roce_endpoint_opts opts = { .sndbuf = 1 };

	for (size_t v = 0; v < array_size(hosts); v++) {
		check_full(v, true, false, &opts);
		check_full(v, true, true, &opts);
	}
}

/* ---- ids that nobody tells ---- */

/* Packets to oneself do not leave, so that none comes back with its time stamp. */
static void keep_from_oneself(void)
{
	assert_int_equal(net_shell("ip rule add pref 2 lookup local && "
				   "ip rule add pref 1 iif lo to " A4 " prohibit && "
				   "ip rule del pref 0"),
			 0);
}

static void allow_oneself(void)
{
	assert_int_equal(net_shell("ip rule add pref 0 lookup local && ip rule del pref 1 && "
				   "ip rule del pref 2"),
			 0);
}

static void without_ids_there_is_no_lane(void **state)
{
	struct roce_path path;
	struct lane l = { .dqpn = BLOCK };

	far_init(&l.p, A4, B4, NULL);
	l.wire = sniff();
	keep_from_oneself();
	path = path_to(l.p.a, B4);
	allow_oneself();
	assert_int_equal(path.route.socket, 0);
	l.p.path = path;
	add_row(&l, 3, 64);
	add_row(&l, 1, 64);
	flush(&l);
	see_all(&l);
	pair_receive(&l.p, 4);
	/* The kernel is not asked again. */
	assert_int_equal(path_to(l.p.a, hosts[0].other).route.socket, 0);
	lane_fini(&l);
}

static void see_uncounted(struct lane *l)
{
	while (l->seen < l->added) {
		struct sight s = see_one(l);

		assert_true(s.right);
		assert_int_equal(s.sport, l->p.path.sport);
		assert_in_range(s.id, 0, 3);
	}
}

static void check_dissolved(struct lane *l)
{
	assert_false(source_of(l)->connected);
	see_uncounted(l);
	/* For good, with everything that belongs to it. */
	roce_path_doubt(&l->p.path, l->p.a);
	add_row(l, 4, 64);
	add_row(l, 1, 64);
	flush(l);
	see_uncounted(l);
	inbox_clear(&l->p.in);
	pair_drain(&l->p);
	assert_int_equal(path_to(l->p.a, B4).route.socket, l->p.path.route.socket);
	assert_int_equal(count_of(l).tx_lost, 0);
}

static void a_lane_whose_ids_are_told_no_more_goes_on_without_any(void **state)
{
	struct lane l;

	lane_init(&l, 0, NULL);
	add_row(&l, 4, 64);
	flush(&l);
	see_all(&l);
	add_row(&l, 4, 64);
	add_row(&l, 2, 64);
	add_row(&l, 1, 64);
	keep_from_oneself();
	roce_path_doubt(&l.p.path, l.p.a);
	flush(&l);
	allow_oneself();
	check_dissolved(&l);
	lane_fini(&l);
}

/* Nobody reads what comes to a lane; there is no room for time stamps then. */
static void a_lane_that_strangers_have_filled_goes_on_without_ids(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct lane l;

	lane_init(&l, 0, NULL);
	inet_pton(AF_INET, A4, &to.sin_addr);
	to.sin_port = htons(l.p.path.sport);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(sendto(roce_endpoint_fd(l.p.b), pattern(), 64, 0,
					(struct sockaddr *)&to, sizeof(to)),
				 64);
	add_row(&l, 2, 64);
	add_row(&l, 1, 64);
	roce_path_doubt(&l.p.path, l.p.a);
	flush(&l);
	check_dissolved(&l);
	lane_fini(&l);
}

/* An administrator may, by "ss -K". */
static void a_lane_that_somebody_has_dissolved_goes_on_without_ids(void **state)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	struct lane l;

	lane_init(&l, 0, NULL);
	add_row(&l, 2, 64);
	flush(&l);
	see_all(&l);
	assert_int_equal(connect(source_of(&l)->fd, &nobody, sizeof(nobody)), 0);
	add_row(&l, 2, 64);
	add_row(&l, 1, 64);
	flush(&l);
	check_dissolved(&l);
	lane_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_lane_refuses_as_segments_leaves_one_by_one),
		cmocka_unit_test(segments_that_are_refused_once_they_are_set_leave_one_by_one),
		cmocka_unit_test(what_is_too_long_for_a_lane_is_lost_and_the_rest_is_right),
		cmocka_unit_test(a_peer_that_comes_back_misses_nothing_from_then_on),
		cmocka_unit_test(what_comes_back_for_one_packet_does_not_harm_the_next),
		cmocka_unit_test(
			a_lane_that_is_told_all_the_time_that_nobody_listens_loses_nothing),
		cmocka_unit_test(a_lane_without_a_way_loses_packets_until_there_is_one),
		cmocka_unit_test(a_host_that_was_without_its_address_sends_by_its_lanes_again),
		cmocka_unit_test(what_a_full_lane_did_not_take_leaves_once_and_right),
		cmocka_unit_test(a_full_lane_may_be_doubted),
		cmocka_unit_test(without_ids_there_is_no_lane),
		cmocka_unit_test(a_lane_whose_ids_are_told_no_more_goes_on_without_any),
		cmocka_unit_test(a_lane_that_strangers_have_filled_goes_on_without_ids),
		cmocka_unit_test(a_lane_that_somebody_has_dissolved_goes_on_without_ids),
	};

	if (!lane_hosts())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
