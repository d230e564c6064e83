! What a program can say to Parallax's `collect` about its recording; see collectorAPI.h. Compile this
! file with the program and `use collector_api`. Without `collect`, the calls do nothing.
module collector_api
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: collector_pause, collector_resume, collector_sample, collector_terminate_expt
  public :: collector_phase_begin, collector_phase_end

  abstract interface
    subroutine plain() bind(c)
    end subroutine
    subroutine with_name(name) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
  end interface

  interface
    function dlsym(handle, name) bind(c) result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

contains

  ! The function of this name in collect's library, found once.
  subroutine find(name, known, address)
    character(*), intent(in) :: name
    logical, intent(inout) :: known
    type(c_funptr), intent(inout) :: address
    if (known) return
    address = dlsym(c_null_ptr, name // c_null_char)
    known = .true.
  end subroutine

  subroutine call_plain(address)
    type(c_funptr), intent(in) :: address
    procedure(plain), pointer :: to
    if (.not. c_associated(address)) return
    call c_f_procpointer(address, to)
    call to()
  end subroutine

  subroutine call_with_name(address, name)
    type(c_funptr), intent(in) :: address
    character(*), intent(in) :: name
    procedure(with_name), pointer :: to
    if (.not. c_associated(address)) return
    call c_f_procpointer(address, to)
    call to(trim(name) // c_null_char)
  end subroutine

  subroutine collector_pause()
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call find('collector_pause', known, address)
    call call_plain(address)
  end subroutine

  subroutine collector_resume()
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call find('collector_resume', known, address)
    call call_plain(address)
  end subroutine

  subroutine collector_terminate_expt()
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call find('collector_terminate_expt', known, address)
    call call_plain(address)
  end subroutine

  subroutine collector_sample(name)
    character(*), intent(in) :: name
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call find('collector_sample', known, address)
    call call_with_name(address, name)
  end subroutine

  subroutine collector_phase_begin(name)
    character(*), intent(in) :: name
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call find('collector_phase_begin', known, address)
    call call_with_name(address, name)
  end subroutine

  subroutine collector_phase_end()
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call find('collector_phase_end', known, address)
    call call_plain(address)
  end subroutine

end module
