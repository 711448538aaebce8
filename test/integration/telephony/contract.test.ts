import { describeCarrier } from '../../support/carrier-contract';
import { startSimulatedTwilio } from '../../support/simulated-twilio';
import { startTestCarrier } from '../../support/test-carrier/start-test-carrier';

describeCarrier('Twilio', startSimulatedTwilio);
describeCarrier('with other ids, limits and responses', startTestCarrier);
