import type { FarEndScript } from '../far-end-script.js';
import type { FarEnd, FarEndDeps } from './port.js';
import { createPerson } from './person.js';
import { createHangUp, createSilent, createTalker, createMailbox } from './machines.js';

export function createFarEnd(script: FarEndScript, deps: FarEndDeps): FarEnd {
  switch (script.kind) {
    case 'person':
      return createPerson(script, deps);
    case 'silent':
      return createSilent();
    case 'talker':
      return createTalker(script, deps);
    case 'voicemail':
      return createMailbox(script, deps);
    case 'hangUp':
      return createHangUp(script, deps);
  }
}
