# The API and the worker: one image, two commands (see docker-compose.yml).
FROM node:24-bookworm-slim AS page

WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --ignore-scripts
COPY client/ client/
COPY domain/ domain/
COPY web/ web/
RUN node web/build.ts

FROM node:24-bookworm-slim

ENV NODE_ENV=production
WORKDIR /app

COPY package.json package-lock.json .npmrc ./
# Nothing of the dependencies needs its install script.
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

COPY api/ api/
COPY activities/ activities/
COPY bounded/ bounded/
COPY claude/ claude/
COPY cli/ cli/
COPY client/ client/
COPY config/ config/
COPY domain/ domain/
COPY models/ models/
COPY planner/ planner/
COPY store/ store/
COPY telemetry/ telemetry/
COPY worker/ worker/
COPY workflows/ workflows/
COPY web/folder.ts web/folder.ts
COPY --from=page /app/dist/web dist/web

# The workflow bundle is built once, into the image.
RUN node --eval "import('./worker/bundle.ts').then(({ workflowBundle }) => workflowBundle())"

USER node
EXPOSE 8787
STOPSIGNAL SIGTERM
CMD ["node", "api/main.ts"]
