# Runs a command on a pseudo terminal: what comes in is typed, what the terminal shows goes out.
import fcntl, os, pty, select, struct, sys, termios

child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
inputs = [0, terminal]
while terminal in inputs:
    for ready in select.select(inputs, [], [])[0]:
        try:
            data = os.read(ready, 65536)
        except OSError:
            data = b''
        if not data:
            inputs.remove(ready)
        elif ready == terminal:
            os.write(1, data)
        else:
            os.write(terminal, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
