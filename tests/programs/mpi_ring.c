/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A token around a ring of processes, then every process's share of what collectives compute, with
 * lengths below and above those at which libraries change their ways. Built with Debian's mpicc.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void fail(const char *what, long value)
{
	printf("rank %d: %s: %ld\n", rank, what, value);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void ring(size_t length)
{
	int next = (rank + 1) % size, previous = (rank + size - 1) % size;
	uint8_t *token = malloc(length);

	for (int lap = 0; lap < 3; lap++) {
		if (!rank) {
			memset(token, 17 + lap, length);
			MPI_Send(token, (int)length, MPI_BYTE, next, lap, MPI_COMM_WORLD);
		}
		MPI_Recv(token, (int)length, MPI_BYTE, previous, lap, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		for (size_t i = 0; i < length; i++)
			if (token[i] != 17 + lap)
				fail("the token has changed at", (long)i);
		if (rank)
			MPI_Send(token, (int)length, MPI_BYTE, next, lap, MPI_COMM_WORLD);
	}
	free(token);
}

static void collectives(int count)
{
	long *mine = malloc(count * sizeof(*mine)), *sum = malloc(count * sizeof(*sum));
	long *all = malloc((size_t)count * size * sizeof(*all));
	long *mixed = malloc((size_t)count * size * sizeof(*mixed));

	for (int i = 0; i < count; i++)
		mine[i] = rank * 1000L + i;
	MPI_Allreduce(mine, sum, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		if (sum[i] != 1000L * size * (size - 1) / 2 + (long)i * size)
			fail("allreduce", i);
	MPI_Allgather(mine, count, MPI_LONG, all, count, MPI_LONG, MPI_COMM_WORLD);
	for (int i = 0; i < count * size; i++)
		if (all[i] != i / count * 1000L + i % count)
			fail("allgather", i);
	MPI_Alltoall(all, count, MPI_LONG, mixed, count, MPI_LONG, MPI_COMM_WORLD);
	for (int i = 0; i < count * size; i++)
		if (mixed[i] != rank * 1000L + i % count)
			fail("alltoall", i);
	if (rank == 1)
		for (int i = 0; i < count; i++)
			sum[i] = -i;
	MPI_Bcast(sum, count, MPI_LONG, 1, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		if (sum[i] != -i)
			fail("broadcast", i);
	MPI_Barrier(MPI_COMM_WORLD);
	free(mixed);
	free(all);
	free(sum);
	free(mine);
}

/* One-sided: each rank adds to a counter of rank 0 and puts a word into its row. */
static void window(void)
{
	long one = 1, word = 100 + rank, *memory;
	MPI_Win win;

	MPI_Win_allocate((size + 1) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &memory, &win);
	memset(memory, 0, (size + 1) * sizeof(long));
	MPI_Win_fence(0, win);
	MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
	MPI_Put(&word, 1, MPI_LONG, 0, rank + 1, 1, MPI_LONG, win);
	MPI_Win_fence(0, win);
	if (!rank) {
		if (memory[0] != size)
			fail("counted", memory[0]);
		for (int i = 0; i < size; i++)
			if (memory[i + 1] != 100 + i)
				fail("put", memory[i + 1]);
	}
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	ring(8);
	ring(5000);
	ring(300000);
	collectives(1);
	collectives(1000);
	collectives(20000);
	window();
	if (!rank)
		printf("all %d ranks agree\n", size);
	MPI_Finalize();
	return 0;
}
