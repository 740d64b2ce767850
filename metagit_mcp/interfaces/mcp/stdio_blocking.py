"""Files and terminals as asyncio transports: a thread reads them, plain calls write them.

A file cannot be polled, and a terminal must not be made non-blocking, because the shell shares it. Hosts use
pipes and sockets, which need none of this. Must not know what the bytes mean.
"""

import asyncio
import os
import threading

_CHUNK = 1 << 16


class ThreadReader(asyncio.ReadTransport):
    """Feeds a protocol from a blocking descriptor; at most one chunk is under way.

    The thread is a daemon in a bare system call: a terminal on which nobody types cannot delay the exit.
    """

    def __init__(self, fd: int, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._fd = fd
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Event()
        self._paused = False
        self._closed = False

    def start(self) -> None:
        """Begin to read."""
        os.set_blocking(self._fd, True)
        self._protocol.connection_made(self)
        self._wanted.set()
        threading.Thread(target=self._read_all, name="stdin", daemon=True).start()

    def pause_reading(self) -> None:
        """Read no more than what is under way."""
        self._paused = True

    def resume_reading(self) -> None:
        """Read on."""
        self._paused = False
        self._wanted.set()

    def close(self) -> None:
        """Deliver nothing more."""
        self._closed = True

    def _read_all(self) -> None:
        chunk = b"-"
        while chunk:
            self._wanted.wait()
            self._wanted.clear()
            try:
                chunk = os.read(self._fd, _CHUNK)
            except OSError:  # a terminal that hung up, a directory
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._deliver, chunk)
            except RuntimeError:  # the loop ended first
                return

    def _deliver(self, chunk: bytes) -> None:
        if self._closed:
            return
        if not chunk:
            self._protocol.connection_lost(None)
            return
        self._protocol.data_received(chunk)
        if not self._paused:
            self._wanted.set()


class DirectWriter(asyncio.WriteTransport):
    """Writes to a descriptor that takes everything at once: a file, a terminal, a device."""

    def __init__(self, fd: int, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._fd = fd
        self._protocol = protocol
        self._open = True
        os.set_blocking(fd, True)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write it now."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as failure:
            self._end(failure)

    def get_write_buffer_size(self) -> int:
        """Return 0: nothing is ever kept back."""
        return 0

    def is_closing(self) -> bool:
        """Return whether it has ended."""
        return not self._open

    def close(self) -> None:
        """End."""
        self._end(None)

    def abort(self) -> None:
        """End, like `close()`."""
        self._end(None)

    def _end(self, failure: OSError | None) -> None:
        if self._open:
            self._open = False
            os.close(self._fd)
            self._protocol.connection_lost(failure)
