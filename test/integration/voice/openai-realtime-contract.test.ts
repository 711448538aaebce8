import { describeEngineContract } from './engine-contract';
import { makeRealtimeHarness } from './support/realtime-harness';

describeEngineContract('the realtime engine', makeRealtimeHarness);
