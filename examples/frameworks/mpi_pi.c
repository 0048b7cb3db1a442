/* An MPI program that knows nothing of Paceline: all processes of it compute pi together. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const long steps = 10000000;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double own = 0, all = 0;
  for (long i = rank; i < steps; i += size) {
    const double x = (i + 0.5) / steps;
    own += 4 / (1 + x * x);
  }
  MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("pi is %.5f, said %d processes\n", all / steps, size);
  MPI_Finalize();
  return 0;
}
