import type { RemotePartyScript } from '../remote-party-script.js';
import type { RemoteParty, RemotePartyDeps } from './port.js';
import { createPerson } from './person.js';
import { createFax, createHangUpParty, createSilentParty, createTalkerParty, createVoicemail } from './machines.js';

export function createRemoteParty(script: RemotePartyScript, deps: RemotePartyDeps): RemoteParty {
  switch (script.kind) {
    case 'person':
      return createPerson(script, deps);
    case 'silent':
      return createSilentParty();
    case 'talker':
      return createTalkerParty(script, deps);
    case 'voicemail':
      return createVoicemail(script, deps);
    case 'fax':
      return createFax(deps);
    case 'hangUp':
      return createHangUpParty(script, deps);
  }
}
