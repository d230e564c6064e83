! Locks by their Fortran names, and a region in a module procedure.
module work
  use omp_lib
  implicit none
  integer :: total = 0
contains
  subroutine step(lock, nest)
    integer(omp_lock_kind) :: lock
    integer(omp_nest_lock_kind) :: nest
    !$omp parallel num_threads(2)
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest)
    if (omp_test_nest_lock(nest) /= 2) total = total + 100
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
    !$omp barrier
    !$omp master
    if (.not. omp_test_lock(lock)) total = total + 100
    if (omp_test_lock(lock)) total = total + 100
    call omp_unset_lock(lock)
    !$omp end master
    !$omp end parallel
  end subroutine
end module

program locks
  use work
  implicit none
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  call step(lock, nest)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  if (total /= 2) stop 1
end program
