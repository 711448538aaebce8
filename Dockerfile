# One image for all roles: name the role as the command (api, worker, media or simulator).
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS manifest
WORKDIR /app
COPY package.json package-lock.json ./

FROM manifest AS build
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
COPY workers ./workers
COPY deploy ./deploy
RUN npm run build

FROM manifest AS dependencies
# Temporal's core comes with a native library for each platform, some 27 MB each; one of them runs here.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && npm cache clean --force \
 && cd node_modules/@temporalio/core-bridge \
 && find releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} + \
 && test -d "releases/$(uname -m)-unknown-linux-gnu" \
 && rm -rf sdk-core src

FROM ${NODE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production \
    API_HOST=0.0.0.0 \
    MEDIA_HOST=0.0.0.0 \
    SIMULATOR_HOST=0.0.0.0 \
    WORKER_HOST=0.0.0.0 \
    WORKER_PORT=8084
COPY LICENSE NOTICE package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY src/telephony/simulator/scenarios ./src/telephony/simulator/scenarios
USER node
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=6s --start-period=30s --retries=3 \
  CMD ["node", "dist/deploy/healthcheck.js"]
ENTRYPOINT ["node", "--enable-source-maps", "dist/src/main.js"]
CMD ["api"]
