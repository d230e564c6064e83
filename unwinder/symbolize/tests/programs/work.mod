!mod$ v1 sum:732cf8852a151e1a
module work
real(8),volatile::sink
contains
subroutine simple(n)
integer(4),intent(in)::n
end
subroutine tasks(n)
integer(4),intent(in)::n
end
subroutine smooth(u,v,n)
integer(4),intent(in)::n
real(8),intent(in)::u(1_8:int(n,kind=8))
real(8),intent(out)::v(1_8:int(n,kind=8))
end
end
