/**
 * The structure of the code in one table: which part may import which, what is pure, and how large things may be. Lint's
 * import rules are generated from it (`npm run structure`), and `test/unit/structure.test.ts` holds the code against it.
 */

export interface Part {
  /** Folder or file, from the repository's root. */
  at: string;
  about: string;
}

/** In order: a part imports itself and parts before it, type imports included. */
export const PARTS: readonly Part[] = [
  { at: 'src/kernel', about: 'words that every domain shares: ids, money, phone numbers, states of a call, errors' },
  { at: 'src/voice/audio', about: 'codecs, resampling, voice activity, tones, offline speech and recognition' },
  { at: 'src/platform', about: 'HTTP, MongoDB, Temporal, mail, secrets, telemetry, guarded egress, configuration' },
  { at: 'src/billing', about: 'the ledger, leases, corrections, statements, payments' },
  { at: 'src/identity', about: 'accounts, API keys, people and how they sign in, who may do what' },
  { at: 'src/agents', about: 'agents, their rules and tools, voices, and the numbers that lead to agents' },
  { at: 'src/telephony', about: 'the carrier port, Twilio, the simulated carrier, pacing, limits of destinations' },
  { at: 'src/webhooks', about: 'payload, signature, delivery and attempts of completion webhooks' },
  { at: 'src/voice', about: 'the media server and the talk: session, engines, tools, results, recordings' },
  { at: 'src/calls', about: 'the call: reducer, placing, carrier callbacks, read model, actions, reconciliation' },
  { at: 'src/database.ts', about: 'the collections of all domains together' },
  { at: 'src/api', about: 'the HTTP role: the routes of all domains put together' },
  { at: 'src/sdk', about: 'the typed client' },
  { at: 'src/portal', about: 'the browser app' },
  { at: 'src/dev', about: 'the launcher with embedded servers' },
  { at: 'src/cli', about: 'the command line' },
  { at: 'workflows', about: 'deterministic: the story of a call and its steps' },
  { at: 'activities', about: 'what workflows do to the world' },
  { at: 'workers', about: 'the worker process' },
  { at: 'src/main.ts', about: 'the composition root of every role' },
  { at: 'deploy', about: 'set-up and health check of a deployment' },
];

/** Files that import only pure files and pure packages: no server, no clock. Workflows import nothing else of `src`. */
export const PURE: readonly RegExp[] = [
  /^src\/kernel\//,
  /^src\/calls\/(call-events|call-outcome|call-reducer|follow-ups|placing\/reservation-refusal|reconciliation\/round|views\/watch-progress)\.ts$/,
  /^src\/(?:.*\/)?(contract|schemas|[a-z-]+-contract)\.ts$/,
  /^src\/platform\/http\/contract\//,
  /^src\/platform\/config\/addresses\.ts$/,
  /^src\/platform\/http\/web-pages\.ts$/,
  /^src\/agents\/(agent-definition|field-rules|tool-rules|tool-schema)\.ts$/,
  /^src\/api\/routes\.ts$/,
  /^src\/billing\/statements\/(csv|statement)\.ts$/,
  /^src\/telephony\/twilio\/(forms|identifiers)\.ts$/,
  /^src\/telephony\/simulator\/(call-progress|media\/stream-progress|instructions\/(source|twiml|verbs))\.ts$/,
  /^src\/voice\/session\/reducer\//,
  /^src\/webhooks\/completion\.ts$/,
  /^src\/telephony\/pacing\/dial-queue\.ts$/,
];

/** Packages that pure files import: they compute and touch nothing. */
export const PURE_PACKAGES: readonly string[] = ['zod', 'csv-stringify/sync'];

/** What a part may import beside itself, where that is less than all parts before it. */
export const NARROWER: readonly { from: RegExp; only: RegExp; why: string }[] = [
  {
    from: /^workflows\//,
    only: /^workflows\//,
    why: 'Workflow code is deterministic: it imports pure files and types.',
  },
  { from: /^src\/sdk\//, only: /^src\/sdk\//, why: 'The SDK runs anywhere: it imports pure files.' },
  {
    from: /^src\/cli\/customer\//,
    only: /^src\/(cli|sdk|dev\/runtime-file|dev\/processes|platform\/egress\/signature)/,
    why: 'Customers’ commands reach the service over HTTP: they import the SDK and pure files.',
  },
];

/** Names that only one place knows: a carrier's fields and language stay in the folder of its adapter. */
export const OWN_WORDS: readonly { words: RegExp; at: RegExp; why: string }[] = [
  {
    words:
      /CallSid|[Aa]ccountSid|StreamSid|DialCallStatus|SipResponseCode|SequenceNumber|ForwardedFrom|[Tt]wi[Mm][Ll]|[Xx]-[Tt]wilio/,
    at: /^src\/telephony\/(twilio|simulator)\//,
    why: 'Only src/telephony/<carrier>/ knows a carrier’s fields: say it in the words of the port.',
  },
  {
    words: /streamSid/,
    // The results of conversations are stored with it.
    at: /^src\/(telephony\/(twilio|simulator)\/|voice\/results\/(model|conversation-results)\.ts$)/,
    why: 'Outside the stored result of a conversation a stream has a streamId.',
  },
];

/** Sizes in lines and files. A factory is a function that returns an object of functions. */
export const LIMITS = { functionLines: 60, factoryLines: 120, fileLines: 400, filesInFolder: 20 } as const;
