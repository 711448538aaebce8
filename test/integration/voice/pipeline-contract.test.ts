import { describeEngineContract, type EngineHarness, type HarnessOptions } from './engine-contract';
import { openPipeline, type PipelineOptions } from './support/pipeline-harness';

async function contractHarness({ silence }: HarnessOptions, options: PipelineOptions = {}): Promise<EngineHarness> {
  const pipeline = await openPipeline({ ...options, ...(silence === undefined ? {} : { silence }) });
  const { chat } = pipeline;
  const stt = options.sttProvider === 'openai' ? pipeline.transcriptions : pipeline.stt;
  // Short, because most tests wait for it.
  chat.answers.set('[The line is open. Begin to speak.]', { says: 'Hello, this is the AI assistant of the clinic.' });
  chat.answers.set('[The other person pressed these keys: 1 #]', { says: 'Thank you, you pressed one.' });
  stt.unscripted = 'Hello?';
  chat.otherwise = (text) => ({ says: /ended in about/.test(text) ? 'We have twenty seconds left.' : 'I see.' });

  return {
    factory: pipeline.factory,
    greeting: /AI assistant of the clinic/,
    speak: pipeline.speak,
    linesToGoodbye: [
      { hears: 'Yes, all right.', says: 'Very well. Is there anything else?' },
      { hears: 'No, thank you.', says: 'Thank you. Goodbye.', calls: { name: 'end_call', arguments: {} } },
    ],
    keys: '1#',
    script(turns) {
      stt.script(turns.map(({ hears }) => hears));
      for (const { hears, says, calls } of turns) {
        chat.answers.set(hears, { ...(says === undefined ? {} : { says }), ...(calls === undefined ? {} : { calls }) });
      }
    },
    hang: pipeline.hang,
    kill: pipeline.kill,
    close: () => pipeline.close(),
  };
}

describeEngineContract('the pipeline engine', (options) => contractHarness(options));
describeEngineContract('the pipeline engine with all providers by OpenAI’s HTTP protocols', (options) =>
  contractHarness(options, { sttProvider: 'openai', llmProvider: 'openai-responses', voiceProvider: 'openai' }),
);
const AGENT_ONLY = 'only the model and the voice take part, which are those of the first run';
const NOT_HEARD = 'no audio of the caller is transcribed for it';
// Nothing in the protocol of Flux prevents a test. These are left out because STT has no part in what they check.
describeEngineContract(
  'the pipeline engine with Deepgram Flux',
  (options) => contractHarness(options, { sttModel: 'flux-general-en' }),
  {
    'greets first, without delay': AGENT_ONLY,
    'sends audio in whole frames, by items that end once and stay ended': AGENT_ONLY,
    'replies to DTMF digits': NOT_HEARD,
    'announces the forced end of the call': AGENT_ONLY,
    'resumes an interrupted call with one sentence and no greeting': AGENT_ONLY,
    'returns values for exactly the keys of the template, and a summary': AGENT_ONLY,
  },
);
