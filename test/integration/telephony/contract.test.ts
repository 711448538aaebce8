import { describeCarriers } from '../../support/carrier-contract/suite';
import { describeWebCarrier } from '../../support/carrier-contract/web-cases';
import { startSimulatedTwilio } from '../../support/simulated-twilio';
import { startTestCarrier } from '../../support/test-carrier/start-test-carrier';

/** The reasons for which parts of the contract do not apply to the simulated carrier of test calls. */
const TEST_CALLS = {
  'a paid time limit': 'Test calls cost nothing, so nothing is paid in advance.',
  'faults of the operator': 'Anyone can script a rejection of a test call, so it is no concern of the operator.',
};

describeCarriers(
  (ports) => startSimulatedTwilio(ports, { SIMULATOR_TIME_SCALE: '0.3' }),
  [
    { name: 'Twilio', mode: 'live', without: {} },
    { name: 'simulator', mode: 'test', without: TEST_CALLS },
  ],
  describeWebCarrier,
);
describeCarriers(startTestCarrier, [{ name: 'with other ids, limits and responses', mode: 'live', without: {} }]);
