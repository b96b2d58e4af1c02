# The image: the root file system that `make image` assembles, and nothing else. One image serves all roles:
#   make image && docker build -t podseidon .
#   docker run --rm podseidon --version
#   docker run --read-only --cap-drop=ALL -p 8843:8843 -p 8081:8081 -v /etc/podseidon:/etc/podseidon:ro \
#     podseidon --role=webhook ...
# scripts/image/image-root.ts reads this file; keep each instruction as simple as it is, or teach that script the new
# one.
FROM scratch

# amd64 or arm64, which container engines set.
ARG TARGETARCH
COPY dist/image/root-${TARGETARCH}/ /

# Outside a container the servers listen on loopback; in one, nothing could reach them there.
ENV PODSEIDON_FLAG_HEALTHZ_BIND_ADDR=::
ENV PODSEIDON_FLAG_PROMETHEUS_HTTP_BIND_ADDR=::
ENV PODSEIDON_FLAG_WEBHOOK_BIND_ADDR=::
ENV PODSEIDON_FLAG_WEBHOOK_HTTPS_BIND_ADDR=::

# Webhook (HTTP, HTTPS), health, metrics.
EXPOSE 8080 8843 8081 9090

# A number, so that Kubernetes can see that it is not root; it needs no entry in /etc/passwd.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/podseidon"]
