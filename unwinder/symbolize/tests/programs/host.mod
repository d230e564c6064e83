!mod$ v1 sum:9dc88fe4f5a30325
module host
contains
subroutine outer(n)
integer(4),intent(in)::n
end
end
