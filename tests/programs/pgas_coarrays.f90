! Accesses of coarrays whose numbers and bytes the test knows; each image checks what it gets.
program coarrays
  use iso_fortran_env
  implicit none
  integer :: me, images, next, i, total, old
  real(8) :: x(100)[*]
  real(8) :: scalar[*], local(10)
  integer(atomic_int_kind) :: counter[*]
  type(lock_type) :: guard[*]
  type(event_type) :: ready[*]
  real(8), allocatable :: heap(:)[:]

  me = this_image()
  images = num_images()
  next = mod(me, images) + 1
  x = me
  scalar = me
  allocate (heap(50)[*])
  heap = 10 * me
  call atomic_define(counter, 0)
  sync all
  do i = 1, 3
    x(1:10)[next] = x(11:20)            ! 80 bytes
  end do
  sync all
  local = heap(1:10)[next]              ! 80 bytes
  if (any(local /= 10 * next)) error stop 'heap'
  if (scalar[next] /= next) error stop 'scalar'   ! 8 bytes
  call atomic_add(counter[1], 2)        ! 4 bytes
  call atomic_fetch_add(counter[1], 1, old)
  lock (guard[1])
  unlock (guard[1])
  critical
    total = me
  end critical
  event post (ready[next])
  event wait (ready)
  call co_sum(total)
  call co_broadcast(local, 1)           ! 80 bytes
  if (total /= images * (images + 1) / 2) error stop 'sum'
  sync images (*)
  sync memory
  sync all
  if (me == 1) print *, 'done', images
end program
