# An image of one static binary and nothing else: no shell, no libraries, no user but a number.
#
#   docker build -t eurekad .
#
# cluster/Dockerfile.prebuilt packs a binary that was compiled outside into the same image.
#
# Settings come from the environment, the command line, or a file mounted as /application.yml or in /config
# (docs/settings.md). Nothing is written, so the root may be read-only.

# make and cc, which jemalloc is compiled with, are in the image.
FROM rust:1.95-bookworm AS build
WORKDIR /src
# For `eurekad --version`, where there is no .git: --build-arg EUREKAD_COMMIT=$(git rev-parse HEAD), and the commit's time.
ARG EUREKAD_COMMIT
ARG SOURCE_DATE_EPOCH
COPY . .
# --target keeps the flag from build scripts and procedural macros, which cannot be static. On arm64 jemalloc has to be told
# the largest page that the kernel may have (64 KiB); it would take the builder's.
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
 && case $target in aarch64-*) export JEMALLOC_SYS_WITH_LG_PAGE=16 ;; esac \
 && RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --target "$target" --bin eurekad \
 && strip -o /eurekad "target/$target/release/eurekad"

FROM scratch
COPY --from=build /eurekad /eurekad
USER 65532:65532
EXPOSE 8761
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=4s --start-period=40s --retries=2 CMD ["/eurekad", "healthcheck"]
ENTRYPOINT ["/eurekad"]
