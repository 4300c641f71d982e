/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections by address: the public face of librdmacm.
 *
 * Calls return 0, or -1 with errno set, unless a comment says otherwise. Names, values and
 * layouts are ABI: programs built against rdma-core run on them unchanged.
 */
#ifndef RDMA_CMA_H
#define RDMA_CMA_H

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What rdma_get_cm_event() reports. */
enum rdma_cm_event_type {
	/* the active side finds its way */
	RDMA_CM_EVENT_ADDR_RESOLVED = 0,
	RDMA_CM_EVENT_ADDR_ERROR = 1,
	RDMA_CM_EVENT_ROUTE_RESOLVED = 2,
	RDMA_CM_EVENT_ROUTE_ERROR = 3,
	/* connections come and go */
	RDMA_CM_EVENT_CONNECT_REQUEST = 4,
	RDMA_CM_EVENT_CONNECT_RESPONSE = 5,
	RDMA_CM_EVENT_CONNECT_ERROR = 6,
	RDMA_CM_EVENT_UNREACHABLE = 7,
	RDMA_CM_EVENT_REJECTED = 8,
	RDMA_CM_EVENT_ESTABLISHED = 9,
	RDMA_CM_EVENT_DISCONNECTED = 10,
	/* the adapter went away: destroy the id and all that was made on the adapter */
	RDMA_CM_EVENT_DEVICE_REMOVAL = 11,
	RDMA_CM_EVENT_MULTICAST_JOIN = 12,
	RDMA_CM_EVENT_MULTICAST_ERROR = 13,
	RDMA_CM_EVENT_ADDR_CHANGE = 14,
	RDMA_CM_EVENT_TIMEWAIT_EXIT = 15,
	/* answers to rdma_resolve_addrinfo() */
	RDMA_CM_EVENT_ADDRINFO_RESOLVED = 16,
	RDMA_CM_EVENT_ADDRINFO_ERROR = 17,
	/* put there by rdma_write_cm_event() */
	RDMA_CM_EVENT_USER = 18,
	RDMA_CM_EVENT_INTERNAL = 19,
};

/* The port space decides the transport service and who shares port numbers with whom. */
enum rdma_port_space {
	RDMA_PS_IPOIB = 0x0002,
	RDMA_PS_TCP = 0x0106, /* reliable connections */
	RDMA_PS_UDP = 0x0111, /* datagrams */
	RDMA_PS_IB = 0x013f,  /* any QP type, named by service id */
};

/* How a port space and a port make up the low 32 bits of an IB service id. */
#define RDMA_IB_IP_PS_MASK   0xffffffffffff0000ULL
#define RDMA_IB_IP_PORT_MASK 0x000000000000ffffULL
#define RDMA_IB_IP_PS_TCP    0x0000000001060000ULL
#define RDMA_IB_IP_PS_UDP    0x0000000001110000ULL
#define RDMA_IB_PS_IB        0x00000000013f0000ULL

/* The Q_Key of every datagram QP and multicast group in RDMA_PS_UDP. */
#define RDMA_UDP_QKEY 0x01234567

struct rdma_ib_addr {
	union ibv_gid sgid;
	union ibv_gid dgid;
	__be16 pkey;
};

struct rdma_addr {
	union {
		struct sockaddr src_addr;
		struct sockaddr_in src_sin;
		struct sockaddr_in6 src_sin6;
		struct sockaddr_storage src_storage;
	};
	union {
		struct sockaddr dst_addr;
		struct sockaddr_in dst_sin;
		struct sockaddr_in6 dst_sin6;
		struct sockaddr_storage dst_storage;
	};
	union {
		struct rdma_ib_addr ibaddr;
	} addr;
};

struct rdma_route {
	struct rdma_addr addr;
	struct ibv_sa_path_rec *path_rec; /* num_paths of them, owned by the id */
	int num_paths;
};

struct rdma_event_channel {
	int fd; /* readable while an event waits; O_NONBLOCK may be set on it */
};

struct rdma_cm_event;

struct rdma_cm_id {
	struct ibv_context *verbs; /* NULL until the id is bound to an adapter */
	struct rdma_event_channel *channel;
	void *context; /* the caller's */
	struct ibv_qp *qp;
	struct rdma_route route;
	enum rdma_port_space ps;
	uint8_t port_num;
	struct rdma_cm_event *event; /* synchronous ids: the event that ended the last call */
	struct ibv_comp_channel *send_cq_channel;
	struct ibv_cq *send_cq;
	struct ibv_comp_channel *recv_cq_channel;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	enum ibv_qp_type qp_type;
};

/* In rdma_conn_param: as many as the adapter, or the peer's request, allows. */
enum {
	RDMA_MAX_RESP_RES = 0xff,
	RDMA_MAX_INIT_DEPTH = 0xff,
};

struct rdma_conn_param {
	const void *private_data;
	uint8_t private_data_len;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count; /* rdma_connect() only */
	uint8_t rnr_retry_count;
	/* from here on only for ids without a QP of their own */
	uint8_t srq;
	uint32_t qp_num;
};

struct rdma_ud_param {
	const void *private_data;
	uint8_t private_data_len;
	struct ibv_ah_attr ah_attr;
	uint32_t qp_num;
	uint32_t qkey;
};

struct rdma_cm_event {
	struct rdma_cm_id *id;
	struct rdma_cm_id *listen_id; /* CONNECT_REQUEST: the listener; id is new */
	enum rdma_cm_event_type event;
	int status; /* 0, or a negative errno, or a reject reason */
	union {
		struct rdma_conn_param conn; /* RDMA_PS_TCP */
		struct rdma_ud_param ud;     /* RDMA_PS_UDP */
		uint64_t arg;                /* RDMA_CM_EVENT_USER */
	} param;
};

/* rdma_addrinfo.ai_flags */
#define RAI_PASSIVE     0x00000001 /* the answer is for a listener */
#define RAI_NUMERICHOST 0x00000002 /* node is an address, ask no name service */
#define RAI_NOROUTE     0x00000004 /* do not fill in ai_route */
#define RAI_FAMILY      0x00000008 /* ai_family is a demand, not a hint */
#define RAI_SA          0x00000010 /* ask the subnet administrator */
#define RAI_DNS         0x00000020 /* ask name services; not together with RAI_SA */

struct rdma_addrinfo {
	int ai_flags;
	int ai_family;
	int ai_qp_type;
	int ai_port_space;
	socklen_t ai_src_len;
	socklen_t ai_dst_len;
	struct sockaddr *ai_src_addr;
	struct sockaddr *ai_dst_addr;
	char *ai_src_canonname;
	char *ai_dst_canonname;
	size_t ai_route_len;
	void *ai_route;
	size_t ai_connect_len;
	void *ai_connect;
	struct rdma_addrinfo *ai_next;
};

/* Which members of rdma_cm_join_mc_attr_ex hold something. */
enum rdma_cm_join_mc_attr_mask {
	RDMA_CM_JOIN_MC_ATTR_ADDRESS = 0x1,
	RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS = 0x2,
	RDMA_CM_JOIN_MC_ATTR_RESERVED = 0x4,
};

enum rdma_cm_mc_join_flags {
	RDMA_MC_JOIN_FLAG_FULLMEMBER = 0,
	RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER = 1,
	RDMA_MC_JOIN_FLAG_RESERVED = 2,
};

struct rdma_cm_join_mc_attr_ex {
	uint32_t comp_mask;  /* enum rdma_cm_join_mc_attr_mask */
	uint32_t join_flags; /* one of enum rdma_cm_mc_join_flags */
	struct sockaddr *addr;
};

/* Channels. NULL and errno when there is none to be had. */
struct rdma_event_channel *rdma_create_event_channel(void);
void rdma_destroy_event_channel(struct rdma_event_channel *channel);

/*
 * Takes the oldest event, waiting for one unless channel->fd is O_NONBLOCK. Each event taken is
 * given back with rdma_ack_cm_event(); rdma_destroy_id() waits for that.
 */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);
int rdma_ack_cm_event(struct rdma_cm_event *event);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t arg);
const char *rdma_event_str(enum rdma_cm_event_type event);

/* Ids. With a NULL channel every call on the id waits for its outcome and returns it. */
int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps);
int rdma_destroy_id(struct rdma_cm_id *id);
int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel);

/* A synchronous id, bound or routed as res says, with a QP when qp_init_attr is given. */
int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *qp_init_attr);
void rdma_destroy_ep(struct rdma_cm_id *id);

/* Addresses: a wildcard address or port 0 leaves the choice to the library. */
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr);
int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr,
		      int timeout_ms);
int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);

__be16 rdma_get_src_port(struct rdma_cm_id *id);
__be16 rdma_get_dst_port(struct rdma_cm_id *id);

static inline struct sockaddr *rdma_get_local_addr(struct rdma_cm_id *id)
{
	struct rdma_addr *addr = &id->route.addr;

	return &addr->src_addr;
}

static inline struct sockaddr *rdma_get_peer_addr(struct rdma_cm_id *id)
{
	struct rdma_addr *addr = &id->route.addr;

	return &addr->dst_addr;
}

/* QPs on a bound id; pd NULL means the adapter's default PD. The library moves their state. */
int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);
int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr);
void rdma_destroy_qp(struct rdma_cm_id *id);

/* For QPs the caller moves by hand: attributes for the state asked for in qp_attr->qp_state. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask);

/* Active side. rdma_establish() is for ids without a QP, after CONNECT_RESPONSE. */
int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);
int rdma_establish(struct rdma_cm_id *id);

/* Passive side. rdma_get_request() waits on a synchronous listener. */
int rdma_listen(struct rdma_cm_id *id, int backlog);
int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id);
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);
int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);
int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);

/* Either side. rdma_notify() passes on IBV_EVENT_COMM_EST of the id's QP. */
int rdma_disconnect(struct rdma_cm_id *id);
int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event);

/* Multicast; the context comes back as private_data of the JOIN event. */
int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context);
int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *mc_join_attr,
			   void *context);
int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr);

/* A NULL-terminated list of opened adapters; they stay open while the library is loaded. */
struct ibv_context **rdma_get_devices(int *num_devices);
void rdma_free_devices(struct ibv_context **list);

/* Option levels of rdma_set_option() … */
enum {
	RDMA_OPTION_ID = 0,
	RDMA_OPTION_IB = 1,
};

/* … options of RDMA_OPTION_ID … */
enum {
	RDMA_OPTION_ID_TOS = 0,         /* uint8_t, type of service */
	RDMA_OPTION_ID_REUSEADDR = 1,   /* int, as SO_REUSEADDR */
	RDMA_OPTION_ID_AFONLY = 2,      /* int, as IPV6_V6ONLY */
	RDMA_OPTION_ID_ACK_TIMEOUT = 3, /* uint8_t, local ACK timeout of the QP */
};

/* … and of RDMA_OPTION_IB. */
enum {
	RDMA_OPTION_IB_PATH = 1, /* array of struct ibv_path_data */
};

int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen);

/* Names to addresses, like getaddrinfo(3): -1 and errno, or an EAI_ code of that call. */
int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res);
void rdma_freeaddrinfo(struct rdma_addrinfo *res);

/* Names to addresses by event (ADDRINFO_RESOLVED), then the result. */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);

/* Enhanced connection establishment for ids without a QP. */
int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece);
int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece);

#ifdef __cplusplus
}
#endif

#endif /* RDMA_CMA_H */
