/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames between an adapter that is bound to one end of a veth pair, and a packet socket on the
 * other end, in a network namespace of the test's own. The socket says with a virtio header what it
 * leaves to an adapter, as the kernel's own senders do.
 */
#include "ends.h"
#include "netns.h"

#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t far_mac[6] = { 0x02, 0, 0, 0, 0, 0x77 };

static int far;
static struct end near;

/* ---- the far end ---- */

static void far_open(void)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET,
				    .sll_protocol = htons(ETH_P_ALL),
				    .sll_ifindex = (int)if_nametoindex("far") };
	int one = 1;

	far = socket(AF_PACKET, SOCK_RAW, 0);
	assert_true(far >= 0);
	assert_int_equal(setsockopt(far, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(far, (struct sockaddr *)&addr, sizeof(addr)), 0);
}

static void far_send(const struct frame *f, struct virtio_net_hdr v)
{
	struct iovec iov[] = { { &v, sizeof(v) }, { (void *)f->data, f->len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	assert_int_equal(sendmsg(far, &msg, 0), (ssize_t)(sizeof(v) + f->len));
}

/* The next frame to far_mac. */
static void far_receive(struct frame *f)
{
	time_t deadline = end_deadline();

	for (;;) {
		struct pollfd p = { .fd = far, .events = POLLIN };
		struct virtio_net_hdr v;
		struct iovec iov[] = { { &v, sizeof(v) }, { f->data, sizeof(f->data) } };
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
		ssize_t n;

		assert_true(time(NULL) < deadline);
		if (poll(&p, 1, 1000) != 1)
			continue;
		n = recvmsg(far, &msg, 0);
		assert_true(n > (ssize_t)sizeof(v));
		f->len = (uint32_t)n - sizeof(v);
		if (!memcmp(f->data, far_mac, 6))
			return;
	}
}

/* ---- sums ---- */

static uint32_t add_words(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

/* Over pseudo header and segment of an IPv4 frame: 0xffff when the sum in it is right. */
static uint16_t l4_sum(const struct frame *f, bool segment)
{
	const uint8_t *l3 = f->data + 14;
	uint32_t len = f->len - 34, sum = add_words(l3[9] + len, l3 + 12, 8);

	return fold(segment ? add_words(sum, l3 + 20, len) : sum);
}

static void put_ip_sum(struct frame *f)
{
	uint16_t sum = (uint16_t)~fold(add_words(0, f->data + 14, 20));

	f->data[24] = sum >> 8;
	f->data[25] = (uint8_t)sum;
}

/* What the kernel's stack leaves in the place of the sum for an adapter to go on from. */
static void put_partial_sum(struct frame *f, uint32_t place)
{
	uint16_t sum = l4_sum(f, false);

	f->data[34 + place] = sum >> 8;
	f->data[35 + place] = (uint8_t)sum;
}

/* ---- tests ---- */

static void frames_of_the_far_end_arrive_in_order(void **state)
{
	static struct frame f, got;

	for (uint16_t i = 0; i < 500; i++) {
		frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, i, 2, 100);
		far_send(&f, (struct virtio_net_hdr){ 0 });
		if (i % 50 != 49)
			continue;
		for (uint16_t k = i - 49; k <= i; k++) {
			end_receive(&near, &got);
			assert_int_equal(got.len, f.len);
			assert_int_equal(got.data[34] << 8 | got.data[35], k);
		}
	}
}

static void frames_reach_the_far_end_in_order(void **state)
{
	static struct frame f, got;
	struct ibv_send_wr wr[8], *bad;
	struct ibv_sge sge[8];
	uint8_t *from = near.memory + END_DEPTH * END_BUFFER;

	for (uint16_t i = 0; i < 400; i += 8) {
		for (uint16_t k = 0; k < 8; k++) {
			frame_ip(&f, "10.0.0.2", "10.0.0.1", FRAME_UDP, i + k, 2, 900);
			memcpy(f.data, far_mac, 6);
			memcpy(from + k * 1024, f.data, f.len);
			sge[k] = (struct ibv_sge){ (uintptr_t)(from + k * 1024), f.len,
						   near.mr->lkey };
			wr[k] = (struct ibv_send_wr){ .sg_list = &sge[k],
						      .num_sge = 1,
						      .next = k < 7 ? &wr[k + 1] : NULL,
						      .opcode = IBV_WR_SEND,
						      .send_flags = k < 7 ? 0 : IBV_SEND_SIGNALED };
		}
		assert_int_equal(ibv_post_send(near.qp, wr, &bad), 0);
		assert_int_equal(end_poll(near.cq).status, IBV_WC_SUCCESS);
		for (uint16_t k = 0; k < 8; k++) {
			far_receive(&got);
			assert_int_equal(got.len, f.len);
			assert_int_equal(got.data[34] << 8 | got.data[35], i + k);
		}
	}
}

/* More at once than the kernel has room for: nothing is lost, and nothing waits for ever. */
static void a_burst_completes_though_the_interface_is_slow(void **state)
{
	static struct frame f;
	struct ibv_sge sge = { (uintptr_t)(near.memory + END_DEPTH * END_BUFFER), 0,
			       near.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	unsigned int posted = 0, done = 0;
	time_t deadline = end_deadline();

	frame_ip(&f, "10.0.0.2", "10.0.0.1", FRAME_UDP, 1, 2, 1400);
	memcpy(f.data, far_mac, 6);
	memcpy((void *)(uintptr_t)sge.addr, f.data, f.len);
	sge.length = f.len;
	while (done < 3000) {
		struct ibv_wc wc[16];
		int n;

		for (; posted < 3000 && posted - done < 64; posted++)
			assert_int_equal(ibv_post_send(near.qp, &wr, &bad), 0);
		n = ibv_poll_cq(near.cq, 16, wc);
		for (int i = 0; i < n; i++)
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		done += (unsigned int)n;
		assert_true(time(NULL) < deadline);
	}
	/* What it has heard of all this is not for the next test. */
	close(far);
	far_open();
}

static void a_vlan_tag_stripped_by_the_kernel_is_restored(void **state)
{
	static struct frame f, got;
	static const uint8_t tag[] = { 0x81, 0x00, 0x60, 0x64 };

	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 100);
	memmove(f.data + 16, f.data + 12, f.len - 12);
	memcpy(f.data + 12, tag, sizeof(tag));
	f.len += 4;
	far_send(&f, (struct virtio_net_hdr){ 0 });
	end_receive(&near, &got);
	assert_int_equal(got.len, f.len);
	assert_memory_equal(got.data, f.data, f.len);
}

static void a_vlan_tag_reaches_the_far_end(void **state)
{
	static struct frame f, got;
	static const uint8_t tag[] = { 0x81, 0x00, 0x60, 0x64 };

	frame_ip(&f, "10.0.0.2", "10.0.0.1", FRAME_UDP, 1, 2, 100);
	memcpy(f.data, far_mac, 6);
	memmove(f.data + 16, f.data + 12, f.len - 12);
	memcpy(f.data + 12, tag, sizeof(tag));
	f.len += 4;
	end_send(&near, &f);
	far_receive(&got); /* whose kernel takes the tag out, too */
	assert_int_equal(got.len, f.len - 4);
	assert_memory_equal(got.data + 12, f.data + 16, f.len - 16);
}

static void checksums_left_to_the_adapter_are_filled_in(void **state)
{
	static struct frame f, got;
	struct ibv_wc wc;

	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 333);
	put_ip_sum(&f);
	put_partial_sum(&f, 6);
	far_send(&f, (struct virtio_net_hdr){ .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
					      .csum_start = 34,
					      .csum_offset = 6 });
	wc = end_receive(&near, &got);
	assert_true(wc.wc_flags & IBV_WC_IP_CSUM_OK);
	assert_int_equal(got.len, f.len);
	assert_int_equal(l4_sum(&got, true), 0xffff);
}

static void wrong_checksums_stay_wrong(void **state)
{
	static struct frame f, got;
	struct ibv_wc wc;

	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 333);
	put_ip_sum(&f);
	put_partial_sum(&f, 6);
	far_send(&f, (struct virtio_net_hdr){ 0 });
	wc = end_receive(&near, &got);
	assert_false(wc.wc_flags & IBV_WC_IP_CSUM_OK);
	assert_memory_equal(got.data, f.data, f.len);
}

/* 3000 bytes of data, as the kernel hands them to an adapter that cuts: three pieces of 1200. */
static void a_segment_longer_than_the_mtu_arrives_in_frames(void **state)
{
	static struct frame f, got;
	uint32_t at = 0;

	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_TCP, 1, 2, 3000);
	put_ip_sum(&f);
	put_partial_sum(&f, 16);
	far_send(&f, (struct virtio_net_hdr){ .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
					      .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
					      .gso_size = 1200,
					      .hdr_len = 54,
					      .csum_start = 34,
					      .csum_offset = 16 });
	for (unsigned int i = 0; i < 3; i++) {
		struct ibv_wc wc = end_receive(&near, &got);
		const uint8_t *tcp = got.data + 34;

		assert_true(wc.wc_flags & IBV_WC_IP_CSUM_OK);
		assert_int_equal(got.len, 54 + (i < 2 ? 1200 : 600));
		assert_int_equal((uint32_t)tcp[4] << 24 | tcp[5] << 16 | tcp[6] << 8 | tcp[7], at);
		assert_int_equal(l4_sum(&got, true), 0xffff);
		assert_int_equal(!!(tcp[13] & 8), i == 2);
		assert_memory_equal(got.data + 54, f.data + 54 + at, got.len - 54);
		at += got.len - 54;
	}
}

/* The kernel notices a carrier a moment later, and drops what is sent before. */
static void wait_running(const char *interface)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(request.ifr_name, interface);
	while (!ioctl(fd, SIOCGIFFLAGS, &request) && !(request.ifr_flags & IFF_RUNNING))
		usleep(1000);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_the_far_end_arrive_in_order),
		cmocka_unit_test(frames_reach_the_far_end_in_order),
		cmocka_unit_test(a_burst_completes_though_the_interface_is_slow),
		cmocka_unit_test(a_vlan_tag_stripped_by_the_kernel_is_restored),
		cmocka_unit_test(a_vlan_tag_reaches_the_far_end),
		cmocka_unit_test(checksums_left_to_the_adapter_are_filled_in),
		cmocka_unit_test(wrong_checksums_stay_wrong),
		cmocka_unit_test(a_segment_longer_than_the_mtu_arrives_in_frames),
	};
	int failed;

	netns_enter(argv);
	if (!netns_try_ip("link add near type veth peer name far")) {
		printf("SKIPPED: no veth pair can be made here\n");
		return 77;
	}
	netns_ip("link set near up");
	netns_ip("link set far up");
	wait_running("near");
	netns_ip(
		"link set near up"); /* takes the lock that the kernel holds until frames are sent */
	setenv("VERBENA_CONFIG", "", 1);
	setenv("VERBENA_ADAPTERS", "mlx5_0,interface=near", 1);
	far_open();
	end_receiver(&near, "mlx5_0", 0);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	end_close(&near);
	return failed;
}
