! Synchronisation that a program has made itself, declared to `collect -r`; see tha_interface.h. Compile this
! file with the program and `use tha_interface`. Without `collect`, the calls do nothing.
module tha_interface
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: tha_sobj_kind
  public :: tha_notify_acquire_lock, tha_notify_lock_acquired, tha_notify_acquire_writelock
  public :: tha_notify_writelock_acquired, tha_notify_acquire_readlock, tha_notify_readlock_acquired
  public :: tha_notify_release_lock, tha_notify_lock_released, tha_notify_sync_post_begin
  public :: tha_notify_sync_post_end, tha_notify_sync_wait_begin, tha_notify_sync_wait_end

  integer, parameter :: tha_sobj_kind = c_intptr_t

  abstract interface
    subroutine with_id(id) bind(c)
      import :: c_intptr_t
      integer(c_intptr_t), value :: id
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

  ! Calls the function of this name in collect's library, found once.
  subroutine notify(name, id, known, address)
    character(*), intent(in) :: name
    integer(tha_sobj_kind), intent(in) :: id
    logical, intent(inout) :: known
    type(c_funptr), intent(inout) :: address
    procedure(with_id), pointer :: to
    if (.not. known) then
      address = dlsym(c_null_ptr, name // c_null_char)
      known = .true.
    end if
    if (.not. c_associated(address)) return
    call c_f_procpointer(address, to)
    call to(id)
  end subroutine

  subroutine tha_notify_acquire_lock(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_acquire_lock', id, known, address)
  end subroutine

  subroutine tha_notify_lock_acquired(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_lock_acquired', id, known, address)
  end subroutine

  subroutine tha_notify_acquire_writelock(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_acquire_writelock', id, known, address)
  end subroutine

  subroutine tha_notify_writelock_acquired(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_writelock_acquired', id, known, address)
  end subroutine

  subroutine tha_notify_acquire_readlock(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_acquire_readlock', id, known, address)
  end subroutine

  subroutine tha_notify_readlock_acquired(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_readlock_acquired', id, known, address)
  end subroutine

  subroutine tha_notify_release_lock(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_release_lock', id, known, address)
  end subroutine

  subroutine tha_notify_lock_released(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_lock_released', id, known, address)
  end subroutine

  subroutine tha_notify_sync_post_begin(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_sync_post_begin', id, known, address)
  end subroutine

  subroutine tha_notify_sync_post_end(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_sync_post_end', id, known, address)
  end subroutine

  subroutine tha_notify_sync_wait_begin(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_sync_wait_begin', id, known, address)
  end subroutine

  subroutine tha_notify_sync_wait_end(id)
    integer(tha_sobj_kind), intent(in) :: id
    logical, save :: known = .false.
    type(c_funptr), save :: address
    call notify('tha_notify_sync_wait_end', id, known, address)
  end subroutine

end module
