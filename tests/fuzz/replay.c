/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a fuzz target over files, where there is no libFuzzer: replay FILE... */
#include "fuzz.h"

int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t n;

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, n);
	}
	printf("%d inputs\n", argc - 1);
	return argc < 2;
}
