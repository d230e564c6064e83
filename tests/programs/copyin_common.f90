! The threadprivate common block is copied to all threads.
program main
  implicit none
  integer :: i, k
  real :: r(20), x(8)
  common /work/ x, k
  !$omp threadprivate(/work/)
  k = 7
  x = 1
  !$omp parallel copyin(/work/) num_threads(4)
  !$omp do
  do i = 1, 20
    r(i) = x(3) + k
  end do
  !$omp end parallel
  print *, sum(r)
end program
