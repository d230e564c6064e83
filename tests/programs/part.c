/* A library with a region, in a function called PART: of two threads the first has three times the
 * other's work. */
#include <omp.h>

void PART(void);

void PART(void)
{
    for (int round = 0; round < 10; round++) {
        #pragma omp parallel num_threads(2)
        {
            long steps = omp_get_thread_num() == 0 ? 60000000 : 20000000;
            while (steps > 0) {
                __asm__ volatile("" : "+r"(steps));
                steps--;
            }
        }
        __asm__ volatile("");
    }
}
