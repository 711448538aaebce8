import { describeCarrier } from '../../support/carrier-contract';
import { startSimulatedTwilio } from '../../support/simulated-far-side';
import { startTestCarrier } from '../../support/test-carrier/far-side';

describeCarrier('Twilio', startSimulatedTwilio);
describeCarrier('with other ids, limits and responses', startTestCarrier);
