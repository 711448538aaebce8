/**
 * The structure of the code as tables: which part may import which, which files are pure, and how large files and
 * functions may be. `npm run structure` generates the import rules of the linter from these tables, and
 * `test/unit/structure.test.ts` checks the code against them.
 */

export interface Part {
  /** A folder or file; its path starts at the repository's root. */
  at: string;
  about: string;
}

/** The parts in order. A part may import itself and earlier parts; this includes imports of types. */
export const PARTS: readonly Part[] = [
  { at: 'src/kernel', about: 'basics that every domain shares: ids, money, phone numbers, states of a call, errors' },
  { at: 'src/voice/audio', about: 'codecs, resampling, voice activity, tones, offline speech and recognition' },
  { at: 'src/platform', about: 'HTTP, MongoDB, Temporal, mail, secrets, telemetry, guarded egress, configuration' },
  { at: 'src/billing', about: 'the ledger, leases, corrections, statements, payments' },
  { at: 'src/identity', about: 'accounts, API keys, members, sessions, permissions' },
  { at: 'src/agents', about: 'agents, their rules and tools, voices, and phone numbers of agents' },
  { at: 'src/telephony', about: 'the carrier port, Twilio, the simulated carrier, pacing, destination rules' },
  { at: 'src/webhooks', about: 'payload, signature, delivery and attempts of completion webhooks' },
  { at: 'src/voice', about: 'the media server and the conversation: session, engines, tools, results, recordings' },
  {
    at: 'src/calls',
    about: 'the call: reducer, placing, steps, carrier callbacks, read model, actions, reconciliation',
  },
  { at: 'src/database.ts', about: 'the collections of all domains together' },
  { at: 'src/prepare-database.ts', about: 'migrations and indexes of all domains' },
  { at: 'src/api', about: 'the HTTP role with the routes of all domains' },
  { at: 'src/sdk', about: 'the typed client' },
  { at: 'src/portal', about: 'the browser app' },
  { at: 'src/dev', about: 'the launcher with embedded servers' },
  { at: 'src/cli', about: 'the command line' },
  { at: 'workflows', about: 'deterministic: the course of a call and its steps' },
  { at: 'activities', about: 'thin adapters that run the code of src/calls for workflows' },
  { at: 'workers', about: 'the worker process' },
  { at: 'src/main.ts', about: 'opens database and Temporal, and starts a role, which composes its services' },
  { at: 'deploy', about: 'set-up and health check of a deployment' },
];

/**
 * Pure files import only pure files and pure packages, so they use no server and no clock. From `src`, workflows may
 * import only these files.
 */
export const PURE: readonly RegExp[] = [
  /^src\/kernel\//,
  /^src\/calls\/(call-events|call-outcome|call-reducer|follow-ups|placing\/reservation-rejection|reconciliation\/round|search\/search-terms|views\/watch-progress)\.ts$/,
  /^src\/(?:.*\/)?(contract|schemas|[a-z-]+-contract)\.ts$/,
  /^src\/platform\/http\/contract\//,
  /^src\/platform\/config\/addresses\.ts$/,
  /^src\/platform\/http\/web-pages\.ts$/,
  /^src\/agents\/(agent-definition|field-rules|tool-rules|tool-schema|fields\/(field-definition|conversation-fields))\.ts$/,
  /^src\/api\/routes\.ts$/,
  /^src\/billing\/statements\/(csv|statement)\.ts$/,
  /^src\/telephony\/twilio\/(forms|identifiers)\.ts$/,
  /^src\/telephony\/simulator\/(call-progress|media\/stream-progress|instructions\/(source|twiml|verbs))\.ts$/,
  /^src\/voice\/audio\/(mulaw|resample)\.ts$/,
  /^src\/voice\/session\/reducer\//,
  /^src\/webhooks\/completion\.ts$/,
  /^src\/telephony\/pacing\/dial-queue\.ts$/,
];

/** Packages that pure files may import, because these packages only compute. */
export const PURE_PACKAGES: readonly string[] = ['zod', 'csv-stringify/sync'];

/** Parts with tighter limits: besides itself, the part may import only these. */
export const NARROWER: readonly { from: RegExp; only: RegExp; why: string }[] = [
  {
    from: /^workflows\//,
    only: /^workflows\//,
    why: 'Workflow code is deterministic: it imports pure files and types.',
  },
  { from: /^src\/sdk\//, only: /^src\/sdk\//, why: 'The SDK runs anywhere: it imports pure files.' },
  {
    from: /^src\/portal\/app\//,
    only: /^src\/(portal\/app|sdk)\//,
    why: 'The browser app imports the SDK, pure files and types.',
  },
  {
    from: /^src\/cli\/customer\//,
    only: /^src\/(cli|sdk|dev\/runtime-file|dev\/processes|platform\/(egress\/signature|http\/server\/))/,
    why: 'Customers’ commands reach the service over HTTP: they import the SDK and pure files.',
  },
];

/** Parts that may load only these packages, be it directly or by other files. Imports of types load nothing. */
export const LOADED: readonly { from: RegExp; packages: RegExp; why: string }[] = [
  {
    from: /^workflows\//,
    packages: /^@temporalio\/(workflow|common)$/,
    why: 'Workflow code is deterministic: it loads no other package and no module of Node.js.',
  },
  {
    from: /^src\/portal\/app\//,
    packages: /^(preact|preact-iso|preact\/hooks|lucide-static\/icons\/[a-z0-9-]+\.svg)$/,
    why: 'The browser app gets types and tables of constraints, but no validator.',
  },
];

/**
 * Names that may occur in one place only. For example, a carrier's fields and language stay in the folder of its
 * adapter.
 */
export const OWN_WORDS: readonly { words: RegExp; at: RegExp; why: string }[] = [
  {
    words:
      /CallSid|[Aa]ccountSid|StreamSid|DialCallStatus|SipResponseCode|SequenceNumber|ForwardedFrom|[Tt]wi[Mm][Ll]|[Xx]-[Tt]wilio/,
    at: /^src\/telephony\/(twilio|simulator)\//,
    why: 'Only src/telephony/<carrier>/ knows a carrier’s fields: say it in the words of the port.',
  },
  {
    words: /'twilio'|kind [!=]== 'simulator'/,
    at: /^src\/(telephony\/(twilio|simulator)|platform\/config\/carriers)\//,
    why: 'Ask for what a carrier can do or whether it is simulated, not for its name.',
  },
  {
    words: /@opentelemetry\/|interceptors-opentelemetry/,
    at: /^src\/platform\/telemetry\/tracing\//,
    why: 'Only tracing knows OpenTelemetry: report spans with src/platform/telemetry/spans.ts.',
  },
  {
    words: /streamSid/,
    // The stored results of conversations have a field `streamSid`.
    at: /^src\/(telephony\/(twilio|simulator)\/|voice\/results\/(model|conversation-results)\.ts$)/,
    why: 'Outside the stored result of a conversation a stream has a streamId.',
  },
];

/**
 * The maximum number of lines and files. A factory is a function that returns an object of functions. Only files with
 * code count, not data such as the scenarios of the simulated carrier.
 */
export const LIMITS = { functionLines: 60, factoryLines: 120, fileLines: 400, filesInFolder: 20 } as const;
