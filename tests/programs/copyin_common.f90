! The threadprivate common block is copied to all threads.
program main
  implicit none
  integer :: i, k
  real :: r(20), x(8)
  common /state/ x, k
  !$omp threadprivate(/state/)
  k = 7
  x = 1
  !$omp parallel copyin(/state/) num_threads(4)
  !$omp do
  do i = 1, 20
    r(i) = x(3) + k
  end do
  !$omp end parallel
  print *, sum(r)
end program
