/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `verbena doctor` looks at. A check tries what the libraries will do, in a child where that changes the process,
 * and looks at settings only to say what would mend it.
 */
#ifndef VERBENA_DOCTOR_H
#define VERBENA_DOCTOR_H

enum verdict {
	VERDICT_OK,
	VERDICT_SLOWER,  /* everything works, something takes longer */
	VERDICT_LIMITED, /* something that most programs do not need is missing */
	VERDICT_MISSING, /* programs fail, or packets do not arrive */
};

struct finding {
	enum verdict verdict;
	char found[320];
	char means[320];
	char mend[320]; /* empty: nothing is to be mended, or can be */
};

void doctor_userfaultfd(struct finding *f);
void doctor_memfd(struct finding *f);
void doctor_process_vm(struct finding *f);
void doctor_shm(struct finding *f);
void doctor_user_namespaces(struct finding *f);
void doctor_cores(struct finding *f);
void doctor_file_sizes(struct finding *f);
void doctor_address_layout(struct finding *f);

/* doctor_net.c */
void doctor_port(struct finding *f);
void doctor_firewall(struct finding *f);
void doctor_socket_buffers(struct finding *f);

/* doctor_trial.c */
void doctor_trial(struct finding *f);

/* Sets all of a finding; `mend` may be NULL. The formats are of found, means and mend. */
void finding_set(struct finding *f, enum verdict verdict, const char *means, const char *mend,
		 const char *found, ...) __attribute__((format(printf, 5, 6)));

/* The number in a file of /proc or /sys; -1: there is no such file. */
long doctor_setting(const char *file);

#endif
