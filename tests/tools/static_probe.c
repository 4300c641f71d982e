/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A statically linked program, which no preloaded library reaches: prints a file of the facade and
 * says whether the device file is a character device.
 */
#include <stdio.h>
#include <sys/stat.h>

int main(void)
{
	FILE *f = fopen("/sys/class/infiniband/mlx5_0/node_type", "r");
	char text[64] = "";
	struct stat st;

	if (!f || !fgets(text, sizeof(text), f))
		return 1;
	fclose(f);
	fputs(text, stdout);
	return stat("/dev/infiniband/uverbs0", &st) || !S_ISCHR(st.st_mode);
}
