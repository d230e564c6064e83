// A thread that begins an untied task, and one that continues it.
void runtime_start(void);
void runtime_untied(void);

int main(void)
{
    runtime_start();
    runtime_untied();
}
