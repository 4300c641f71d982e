/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words that may follow `verbena`, and what options they share.
 */
#ifndef VERBENA_COMMAND_H
#define VERBENA_COMMAND_H

/* Each gets its own name in argv[0] and returns the command's exit status. */
int command_run(int argc, char **argv);
int command_check(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_why(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_top(int argc, char **argv);
int command_wire(int argc, char **argv);
int command_unplug(int argc, char **argv);
int command_plug(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_version(int argc, char **argv);

extern const char command_run_help[];
extern const char command_check_help[];
extern const char command_trace_help[];
extern const char command_why_help[];
extern const char command_devices_help[];
extern const char command_top_help[];
extern const char command_wire_help[];
extern const char command_unplug_help[];
extern const char command_plug_help[];
extern const char command_doctor_help[];
extern const char command_version_help[];

/* --adapter and --config, which every command that looks at adapters takes. An exit status. */
int option_adapter(const char *spec, int failure);
int option_config(const char *file, int failure);

/* After getopt_long() answered '?' or ':' (its own messages are off). Returns `failure`. */
int option_bad(int option, char **argv, const char *command, int failure);

#endif
