/* A machine without IPv6, for a program that is started with this library in LD_PRELOAD. WITHOUT_IPV6 says how:
 *   socket   there are no sockets of IPv6, as in a kernel that was started with ipv6.disable=1
 *   bind     there are, and no address of IPv6 is to be had */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int lacks(int family, const char *what) {
    const char *said = getenv("WITHOUT_IPV6");
    return family == AF_INET6 && said != NULL && strcmp(said, what) == 0;
}

int socket(int family, int type, int protocol) {
    if (lacks(family, "socket")) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, family, type, protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t size) {
    if (lacks(address->sa_family, "bind")) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    return (int)syscall(SYS_bind, fd, address, size);
}
