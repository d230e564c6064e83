! A program that passes values in every way, and reads nothing that has none.
module things
  implicit none
  real(8) :: shared_field(200)
  real(8), save :: own(10) = 1
  !$omp threadprivate(own)
contains
  subroutine fill(a, n)
    integer, intent(in) :: n
    real(8), intent(out) :: a(n)
    integer :: i
    do i = 1, n
      a(i) = i
    end do
  end subroutine
  function total(a, n) result(t)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n)
    real(8) :: t
    integer :: i
    t = 0
    do i = 1, n
      t = t + a(i)
    end do
  end function
end module

program initialised
  use things
  implicit none
  real(8), allocatable :: a(:), b(:), c(:, :)
  real(8) :: first(20), last(20), sums(4), t
  integer :: i, unit, n
  character(len=20) :: text
  allocate (a(200), b(200), c(20, 20))
  call fill(a, 200)
  b = 0
  c = 1
  first = 2
  sums = 0
  !$omp parallel do firstprivate(first) lastprivate(last) reduction(+:sums)
  do i = 1, 100
    call fill(last, 20)
    sums(1 + mod(i, 4)) = sums(1 + mod(i, 4)) + total(first, 20)
  end do
  t = total(last, 20) + total(sums, 4)
  own = 3
  !$omp parallel copyin(own) reduction(+:t)
  t = t + total(own, 10)
  !$omp end parallel
  open (newunit=unit, status='scratch')
  do i = 1, 200
    write (unit, *) a(i)
  end do
  rewind (unit)
  do i = 1, 200
    read (unit, *) b(i)
  end do
  rewind (unit)
  read (unit, *) (shared_field(i), i=1, 200)
  close (unit)
  write (text, '(i5)') 42
  read (text, *) n
  t = t + total(b, 200) + total(shared_field, 200) + n
  a = b + shared_field
  c = transpose(c)
  !$omp parallel do reduction(+:t)
  do i = 1, 20
    t = t + sum(c(:, i)) + dot_product(c(i, :), c(:, i)) + total(a(i::20), 10)
  end do
  call random_number(a)
  t = t + total(a, 200)
  print *, t
end program
