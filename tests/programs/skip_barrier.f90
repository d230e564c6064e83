! One thread leaves a procedure before its barrier. Each thread that hangs waits at one of the lines marked.
module steps
  use omp_lib
  implicit none
contains
  subroutine step(n)
    integer, intent(in) :: n
    if (n < 1) return
    !$omp barrier
    if (n > 5) print *, 'many'
  end subroutine
end module
program main
  use steps
  implicit none
  !$omp parallel num_threads(3)
  call step(omp_get_thread_num())
  !$omp critical
  print *, 'past'
  !$omp end critical
  !$omp barrier
  !$omp barrier
  !$omp end parallel
end program
