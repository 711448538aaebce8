import { describeEngineContract, type EngineHarness, type HarnessOptions } from './engine-contract';
import { openPipeline, type PipelineOptions } from './support/pipeline-harness';

async function contractHarness({ silence }: HarnessOptions, options: PipelineOptions = {}): Promise<EngineHarness> {
  const pipeline = await openPipeline({ ...options, ...(silence === undefined ? {} : { silence }) });
  const { chat } = pipeline;
  const stt = options.sttProvider === 'openai' ? pipeline.transcriptions : pipeline.stt;
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
describeEngineContract('the pipeline engine with transcriptions by HTTP', (options) =>
  contractHarness(options, { sttProvider: 'openai' }),
);
