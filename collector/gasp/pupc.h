/* pupc.h: events of the program's own in UPC (GASP 1.5, section 5.2).

   A compiler of UPC that implements GASP has a header of this name, which declares the same functions; this one is for
   programs that are compiled without one. */
#ifndef PARALLAX_PUPC_H
#define PARALLAX_PUPC_H

#ifdef __cplusplus
extern "C" {
#endif

/* Switches the recording of the calling thread's events off (0) and on. Returns what it was. */
int pupc_control(int on);

/* A new event. `description` is as printf's format, for the arguments of the three functions below: d i u x X o c s p f
   e g with the lengths h l ll z j t; NULL: without arguments. Returns its number; 0 if there are too many. */
unsigned int pupc_create_event(const char *name, const char *description);

/* The event starts or ends in the calling thread: a phase. */
void pupc_event_start(unsigned int event, ...);
void pupc_event_end(unsigned int event, ...);

/* It happens at one moment: a sample point. */
void pupc_event_atomic(unsigned int event, ...);

#ifdef __cplusplus
}
#endif
#endif
