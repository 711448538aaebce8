/**
 * The fields of a `session.update`, as strict as the original: names, values and ranges by `RealtimeSessionCreateRequest`,
 * `RealtimeAudioConfigInput`, `RealtimeAudioConfigOutput`, `RealtimeAudioInputTurnDetection` and `RealtimeReasoning` of the
 * npm package `openai` 7.57.0. The error is that of livekit/agents issue 3398.
 */
const SESSION =
  'type audio include instructions max_output_tokens model output_modalities parallel_tool_calls prompt reasoning tool_choice tools tracing truncation';
const INPUT = 'format transcription turn_detection noise_reduction';
const OUTPUT = 'format voice speed';
const SERVER_VAD =
  'type create_response idle_timeout_ms interrupt_response prefix_padding_ms silence_duration_ms threshold';
const SEMANTIC_VAD = 'type create_response interrupt_response eagerness';
const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh'];
/** "Configuration for reasoning-capable Realtime models such as `gpt-realtime-2`": comment of `reasoning`. */
const REASONS = /^gpt-realtime-2/;
/** A custom voice of the account: the example of `RealtimeAudioConfigOutput.voice`. */
export const CUSTOM_VOICE = 'voice_1234';
export const VOICES = ['alloy', 'ash', 'ballad', 'coral', 'echo', 'sage', 'shimmer', 'verse', 'marin', 'cedar'];

type Fields = Record<string, unknown>;

/** An error about a session update; undefined if its settings are valid. */
export type SettingsFault = { code: string; message: string; param: string } | undefined;

/** Says why the provider rejects the settings of a session. @param model the model in the address of the session */
export function settingsFault(session: object, model: string): SettingsFault {
  const { audio = {}, reasoning } = session as { audio?: Fields; reasoning?: Fields };
  const [input, output] = [fieldsOf(audio['input']), fieldsOf(audio['output'])];
  const detection = fieldsOf(input['turn_detection']);
  return (
    unknownIn(session, SESSION, 'session') ??
    unknownIn(audio, 'input output', 'session.audio') ??
    unknownIn(input, INPUT, 'session.audio.input') ??
    unknownIn(output, OUTPUT, 'session.audio.output') ??
    unknownIn(
      detection,
      detection['type'] === 'semantic_vad' ? SEMANTIC_VAD : SERVER_VAD,
      'session.audio.input.turn_detection',
    ) ??
    wrongNumber(detection, 'threshold', [0, 1]) ??
    wrongNumber(detection, 'silence_duration_ms', [0, 60_000]) ??
    wrongNumber(output, 'speed', [0.25, 1.5]) ??
    wrongChoice(detection, 'eagerness', ['low', 'medium', 'high', 'auto']) ??
    wrongChoice(fieldsOf(input['noise_reduction']), 'type', ['near_field', 'far_field']) ??
    voiceFault(output['voice']) ??
    reasoningFault(reasoning, model)
  );
}

function reasoningFault(reasoning: Fields | undefined, model: string): SettingsFault {
  if (reasoning === undefined) return undefined;
  // The message is assumed to be like that of `/responses` (BoundaryML/baml pull request 2708).
  if (!REASONS.test(model))
    return fault("Unsupported parameter: 'session.reasoning' is not supported with this model.", 'reasoning');
  return unknownIn(reasoning, 'effort', 'session.reasoning') ?? wrongChoice(reasoning, 'effort', EFFORTS);
}

/** Custom voices are given as objects. */
function voiceFault(voice: unknown): SettingsFault {
  if (voice === undefined || VOICES.includes(voice as string)) return undefined;
  const param = 'session.audio.output.voice';
  if (typeof voice === 'object' && (voice as Fields)['id'] === CUSTOM_VOICE)
    return unknownIn(voice as object, 'id', param);
  const supported = VOICES.map((name) => `'${name}'`).join(', ');
  return fault(`Invalid value: ${JSON.stringify(voice)}. Supported values are: ${supported}.`, param);
}

const fieldsOf = (value: unknown) => (typeof value === 'object' && value !== null ? value : {}) as Fields;

function fault(message: string, param: string, code = 'invalid_value'): SettingsFault {
  return { code, message, param };
}

function unknownIn(fields: object, known: string, path: string): SettingsFault {
  const unknown = Object.keys(fields).find((name) => !known.split(' ').includes(name));
  if (unknown === undefined) return undefined;
  return fault(`Unknown parameter: '${path}.${unknown}'.`, `${path}.${unknown}`, 'unknown_parameter');
}

function wrongNumber(fields: Fields, name: string, [min, max]: readonly [number, number]): SettingsFault {
  const value = fields[name];
  if (value === undefined || (typeof value === 'number' && value >= min && value <= max)) return undefined;
  return fault(`Invalid '${name}': ${JSON.stringify(value)}.`, name);
}

function wrongChoice(fields: Fields, name: string, choices: readonly string[]): SettingsFault {
  const value = fields[name];
  if (value === undefined || choices.some((choice) => choice === value)) return undefined;
  return fault(`Invalid value: ${JSON.stringify(value)}.`, name);
}
