!mod$ v1 sum:1507b1c050582cd9
module above
contains
subroutine twice(y)
real(8),intent(inout)::y
end
end
