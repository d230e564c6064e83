// Linked to every program: it ends when its input does, so that the test can still see what it has
// loaded.
#include <unistd.h>

__attribute__((destructor)) static void linger(void) {
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
}
