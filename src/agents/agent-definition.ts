import { ENGINE_NAMES } from '../kernel/conversation/engines.js';
import { REDACTED_KINDS, STORAGE_MODES } from '../kernel/conversation/storage.js';
import { VOICEMAIL_ACTIONS } from '../kernel/conversation/voicemail.js';
import type { Pronunciation } from '../kernel/conversation/conversation-settings.js';
import { CONVERSATION_FIELDS } from './fields/conversation-fields.js';
import type { FieldDefinition } from './fields/field-definition.js';
import type { GivenTool } from './tool-rules.js';

/**
 * All fields of an agent by public name. The request schemas, the stored form, the responses, the command-line options
 * and the portal's editor are generated from this table. It contains no functions, because the portal imports it.
 */
export const AGENT_FIELDS = {
  name: {
    kind: 'label',
    max: 100,
    stored: 'name',
    presence: 'given',
    inCall: true,
    about: 'Descriptive name.',
    examples: ['Reminders'],
    form: { label: 'Name' },
    option: { name: 'name', value: '<name>', about: 'descriptive name' },
  },
  instruction: {
    kind: 'text',
    max: 32_768,
    stored: 'instruction',
    presence: 'given',
    inCall: true,
    about: 'Prompt that defines what the agent does; with the tools’ definitions at most 65,536 bytes in UTF-8.',
    examples: ['Remind the caller of the appointment.'],
    form: { label: 'Instruction' },
    option: {
      name: 'instruction',
      value: '<text>',
      about: 'the prompt that defines its behavior',
      file: { name: 'instruction-file', about: 'the prompt, from a file' },
    },
  },
  voice: {
    kind: 'word',
    stored: 'voice',
    presence: 'filled',
    inCall: true,
    about: 'Voice of the agent, as GET /voices lists it.',
    examples: ['amber'],
    form: { label: 'Voice' },
    option: { name: 'voice', value: '<voice>', about: 'a voice that "callwright voices" lists' },
  },
  language: {
    kind: 'language',
    stored: 'language',
    presence: 'filled',
    inCall: true,
    about: 'Language tag (BCP 47).',
    examples: ['en-US'],
    form: { label: 'Language' },
    option: {
      name: 'language',
      value: '<tag>',
      about: 'language of the conversation, like en-US; the voice must speak it',
    },
  },
  output_parameters: {
    kind: 'template',
    stored: 'outputParameters',
    presence: 'optional',
    inCall: true,
    about: 'Template of the data to extract: a JSON object, encoded as a string, of at most 16,384 bytes in UTF-8.',
    examples: ['{"confirmed":null}'],
    form: { label: 'Data to extract' },
    option: {
      name: 'output-parameters',
      value: '<json>',
      about: 'data to extract: a JSON object of null, boolean, number or string values',
      clear: 'output-parameters',
    },
  },
  max_duration_seconds: {
    kind: 'seconds',
    min: 30,
    max: 14_400,
    initial: 600,
    stored: 'maxDurationSeconds',
    presence: 'filled',
    inCall: false,
    about: 'Maximum duration of a call, in seconds.',
    form: { label: 'Maximum duration, in seconds' },
    option: { name: 'max-duration', value: '<seconds>', about: '30 to 14400' },
  },
  ring_timeout_seconds: {
    kind: 'seconds',
    min: 5,
    max: 120,
    initial: 30,
    stored: 'ringTimeoutSeconds',
    presence: 'filled',
    inCall: false,
    about: 'How long a phone rings, in seconds.',
    form: { label: 'Ring timeout, in seconds' },
    option: { name: 'ring-timeout', value: '<seconds>', about: '5 to 120' },
  },
  webhook_url: {
    kind: 'url',
    stored: 'webhookUrl',
    presence: 'optional',
    inCall: false,
    about: 'HTTP or HTTPS URL that receives the completion webhook, without a user name or password.',
    examples: ['https://example.com/call-completed'],
    form: { label: 'Webhook URL', hint: 'Receives the completion webhook of each call of this agent.' },
    option: {
      name: 'webhook-url',
      value: '<url>',
      about: 'receives the completion event of its calls',
      clear: 'webhook-url',
    },
  },
  phone_number: {
    kind: 'phoneNumber',
    stored: 'phoneNumber',
    presence: 'optional',
    inCall: false,
    about: 'Number that this agent calls from, one of the account.',
    examples: ['+12025550199'],
    form: { label: 'Caller ID' },
    option: {
      name: 'phone-number',
      value: '<number>',
      about: 'number of the account that the agent calls from',
      clear: 'phone-number',
    },
  },
  engine: {
    kind: 'choice',
    of: ENGINE_NAMES,
    stored: 'engine',
    presence: 'optional',
    inCall: true,
    about:
      'Engine that conducts the calls. Default: ENGINE of the service. Test calls use it unless TEST_MODE_ENGINE is the offline demo.',
    form: {
      label: 'Engine',
      hint: 'Conducts the calls. If test mode uses the offline demo, which asks fixed questions, it conducts all test calls.',
    },
    option: { name: 'engine', value: '<engine>', about: 'conducts its calls (default: ENGINE)', clear: 'engine' },
  },
  ai_disclosure: {
    kind: 'yesNo',
    absentMeans: true,
    stored: 'aiDisclosure',
    presence: 'optional',
    inCall: true,
    about: 'Whether the agent says in its first sentence that an AI is speaking. Default: true.',
    form: { label: 'Disclose that an AI is speaking', hint: 'Many jurisdictions require it.' },
    option: {
      name: 'ai-disclosure',
      about: 'say in the first sentence that an AI is speaking (default)',
      opposite: 'say so only when asked',
    },
  },
  voicemail_action: {
    kind: 'choice',
    of: VOICEMAIL_ACTIONS,
    absentMeans: 'hang_up',
    stored: 'voicemailAction',
    presence: 'optional',
    inCall: true,
    about: 'Action of the agent when voicemail answers. Default: hang_up.',
    form: { label: 'When voicemail answers' },
    option: { name: 'voicemail', value: '<action>', about: 'what to do when voicemail answers', clear: 'voicemail' },
  },
  voicemail_message: {
    kind: 'text',
    max: 1_000,
    stored: 'voicemailMessage',
    presence: 'optional',
    inCall: true,
    about: 'Message that the agent leaves on voicemail.',
    form: { label: 'Voicemail message' },
    option: {
      name: 'voicemail-message',
      value: '<text>',
      about: 'message that leave_message leaves',
      clear: 'voicemail-message',
    },
  },
  transfer_numbers: {
    kind: 'phoneNumbers',
    max: 20,
    stored: 'transferNumbers',
    presence: 'optional',
    inCall: true,
    about: 'Numbers that the agent may transfer calls to; all others are rejected.',
    examples: [['+12025550142']],
    form: {
      label: 'Transfer numbers',
      hint: 'One per line, like +12025550142. Transfers to other numbers are rejected.',
    },
    option: {
      name: 'transfer-number',
      value: '<number...>',
      about: 'numbers it may transfer calls to; replaces the list',
      clear: 'transfer-numbers',
    },
  },
  tools: {
    kind: 'tools',
    max: 16,
    stored: 'tools',
    presence: 'optional',
    inCall: true,
    about: 'HTTP requests that the agent can make during a call.',
    form: { label: 'Tools' },
    option: {
      name: 'tools-file',
      value: '<file>',
      about: 'a JSON list of its HTTP tools; replaces the list',
      clear: 'tools',
    },
  },
  storage: {
    kind: 'choice',
    of: STORAGE_MODES,
    absentMeans: 'everything',
    stored: 'storage',
    presence: 'optional',
    inCall: true,
    about:
      'The parts of a call that remain after its end. no_recording: all but the audio. no_transcript: all but the transcript and the tool calls. outcome_only: none of them and no summary. Status, times, cost and extracted data always remain. Default: everything.',
    form: {
      label: 'Storage of calls',
      hint: 'Status, times, cost and extracted data always remain. A recording also holds everything that was said.',
    },
    option: { name: 'storage', value: '<mode>', about: 'storage mode of its calls', clear: 'storage' },
  },
  redact: {
    kind: 'choices',
    of: REDACTED_KINDS,
    stored: 'redact',
    presence: 'optional',
    inCall: true,
    about:
      'Data to replace in the stored transcript, summary and tool calls, for example by [card number]. Extracted data and the recording keep it. Default: an empty list.',
    examples: [['card_numbers']],
    form: {
      label: 'Replace in transcripts',
      hint: 'Extracted data and the recording keep them. To keep no card numbers, store no recording.',
    },
    option: {
      name: 'redact',
      value: '<kind...>',
      about: 'data to replace in the stored words of its calls; replaces the list',
      clear: 'redact',
    },
  },
  ...CONVERSATION_FIELDS,
} as const satisfies Record<string, FieldDefinition>;

type Fields = typeof AGENT_FIELDS;
export type AgentFieldName = keyof Fields;

/** `AGENT_FIELDS` as a list, in the same order, each field with its name. */
export const AGENT_FIELD_LIST = Object.entries(AGENT_FIELDS).map(([name, field]) => ({
  ...(field as FieldDefinition),
  name: name as AgentFieldName,
}));

interface ValueOfKind {
  seconds: number;
  number: number;
  yesNo: boolean;
  phoneNumbers: string[];
  terms: string[];
  pronunciations: Pronunciation[];
  tools: GivenTool[];
}

/** Type of a field's value in a request. */
export type ValueOf<F extends AgentFieldName> = Fields[F] extends { kind: 'choices'; of: readonly (infer V)[] }
  ? V[]
  : Fields[F] extends { of: readonly (infer V)[] }
    ? V
    : Fields[F]['kind'] extends keyof ValueOfKind
      ? ValueOfKind[Fields[F]['kind']]
      : string;

type NamesWith<P extends FieldDefinition['presence']> = {
  [F in AgentFieldName]: Fields[F]['presence'] extends P ? F : never;
}[AgentFieldName];
export type GivenField = NamesWith<'given'>;
export type OptionalField = NamesWith<'optional'>;

/** Values of all fields by stored name. */
export type AgentFields = {
  [F in Exclude<AgentFieldName, OptionalField> as Fields[F]['stored']]: ValueOf<F>;
} & {
  [F in OptionalField as Fields[F]['stored']]?: ValueOf<F>;
};

/** Stored names of the agent fields that a call keeps. */
export type NameInCall = {
  [F in AgentFieldName]: Fields[F]['inCall'] extends true ? Fields[F]['stored'] : never;
}[AgentFieldName];

/** Renames fields from public to stored names, without undefined values and unknown fields. */
export function toStored(fields: object): Record<string, unknown> {
  return renamed(fields, (field) => [field.name, field.stored]);
}

/** Renames fields from stored to public names, without undefined values and unknown fields. */
export function toPublic(stored: object): Record<string, unknown> {
  return renamed(stored, (field) => [field.stored, field.name]);
}

function renamed(fields: object, namesOf: (field: { name: string; stored: string }) => readonly [string, string]) {
  const values = fields as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    AGENT_FIELD_LIST.map(namesOf).flatMap(([from, to]) => (values[from] === undefined ? [] : [[to, values[from]]])),
  );
}
