import type { EngineCall } from '../../../../src/voice/engines/port.js';

/** The call with which the engine contract is tested. */
export const CALL: EngineCall = {
  callId: 'call_contract',
  instruction: 'Hello, this is the clinic. Confirm the appointment of tomorrow at ten.',
  voice: 'amber',
  language: 'en-US',
  inputParameters: {},
  outputTemplate: { confirmed: false, note: null },
  direction: 'outbound',
  disclosesAi: true,
  voicemail: { action: 'continue' },
  tools: [
    {
      name: 'end_call',
      description: 'Ends the call after a goodbye.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    },
    {
      name: 'look_up',
      description: 'Looks up the appointment.',
      parameters: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
    },
  ],
};
