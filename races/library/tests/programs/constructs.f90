! Constructs of Fortran, on two threads.
program constructs
use omp_lib
implicit none
integer :: i, s, a(100), x, y, c
integer(8) :: l
s=0; a=0; x=0; y=0; c=0
!$omp parallel num_threads(2) private(i,l)
!$omp do schedule(dynamic,7)
do i=1,100
 a(i)=i
end do
!$omp do schedule(guided) reduction(+:s)
do i=100,1,-1
 s=s+a(i)
end do
!$omp do ordered schedule(static,3)
do l=1,20
!$omp ordered
 c=c*2+int(mod(l,2_8)); c=mod(c,1000)
!$omp end ordered
end do
!$omp workshare
a=a+1
!$omp end workshare
!$omp single
!$omp task depend(out:x)
x=1
!$omp end task
!$omp task depend(in:x)
y=x+1
!$omp end task
!$omp taskwait
!$omp taskloop num_tasks(3)
do i=1,30
a(i)=a(i)+1
end do
!$omp end single
!$omp sections
!$omp section
x=5
!$omp section
y=6
!$omp end sections
!$omp critical
c=c+1
!$omp end critical
!$omp end parallel
if (s /= 5050 .or. sum(a) /= 5180 .or. x /= 5 .or. y /= 6 .or. c /= 52) stop 1
end program
