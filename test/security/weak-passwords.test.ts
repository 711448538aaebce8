import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, forgetLimits, PASSWORD } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => forgetLimits(service));

const person = { email: 'ada.lovelace@analytical.example', name: 'Ada Byron', account_name: 'Engine Works' };
const signUp = (password: string) => createBrowser(service).post('/portal/sign-up', { ...person, password });

describe('a common password cannot be chosen', () => {
  it.each([
    ['of the list', 'administrator'],
    ['of the list in capitals', 'UNBELIEVABLE'],
    ['with digits behind it', 'dragon123456'],
    ['with digits and punctuation around it', '2024!!Sunshine!!'],
    ['with letters replaced', 'P@ssw0rd2024'],
    ['with blanks between', 'i l o v e y o u !'],
    ['repeated to reach the length', 'passwordpassword'],
    ['repeated with digits', 'Football1football1'],
    ['of one character', '000000000000'],
    ['of a short group', 'abcabcabcabc'],
    ['of neighbouring keys', 'qwertyuiop12'],
    ['of neighbouring keys backwards', 'poiuytrewq!!'],
    ['of the alphabet', 'abcdefghijkl'],
    ['of digits in order', '123456789012'],
    ['of several runs', 'zxcvbnm12345'],
  ])('%s', async (_name, password) => {
    const answer = await signUp(password);
    expectError(answer, 400, 'MISSING_PARAMS', /^password is too common\. .*four/);
    expect(answer.json['fields']).toEqual({ password: answer.json['message'] });
  });
});

describe('a password cannot be made of what everybody knows of a person', () => {
  it.each([
    ['the e-mail address', 'ada.lovelace@analytical.example'],
    ['the part before the @', 'Ada.Lovelace'],
    ['the part before the @ with a year', 'adalovelace1815'],
    ['the domain', 'analytical-2024!'],
    ['the name', 'ByronAda!!2024'],
    ['the name of the account', 'engineworks99'],
    ['the name of this service', 'Callwright-2024'],
    ['several of them', 'callwright.lovelace'],
    ['one of them and a common word', 'lovelace-password'],
  ])('%s', async (_name, password) => {
    const answer = await signUp(password);
    expectError(answer, 400, 'MISSING_PARAMS', /^password must not be made of .* Choose/);
    expect(answer.json['fields']).toEqual({ password: answer.json['message'] });
  });
});

it.each([PASSWORD, 'another horse battery', 'hZ8#kq2vLw9x', 'Ada likes seven violet umbrellas', 'mnbvcxz likes cake'])(
  'an ordinary password is taken: %s',
  async (password) => {
    const email = `${Buffer.from(password).toString('hex')}@example.com`;
    const answer = await createBrowser(service).post('/portal/sign-up', { ...person, email, password });
    expect(answer.status).toBe(200);
  },
);

describe('the check applies wherever a password is chosen', () => {
  it('at a change, which names its field and leaves the old password', async () => {
    const owner = createBrowser(service);
    const email = await owner.signUp();
    for (const weak of ['dragon123456', `${email}`]) {
      const answer = await owner.post('/portal/password', { current_password: PASSWORD, new_password: weak });
      expectError(answer, 400, 'MISSING_PARAMS', /^new_password /);
      expect(answer.json['fields']).toHaveProperty('new_password');
    }
    expect((await createBrowser(service).post('/portal/log-in', { email, password: PASSWORD })).status).toBe(200);
  });

  it('when an invitation is accepted, which it does not use up', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { json } = await owner.post('/portal/invitations', { email: 'hopper@cobol.example', role: 'viewer' });
    const accept = (password: string) =>
      createBrowser(service).post('/portal/accept-invitation', { token: json['token'], name: 'Grace', password });
    expectError(await accept('dragon123456'), 400, 'MISSING_PARAMS', /^password is too common/);
    expectError(await accept('hopper@cobol.example'), 400, 'MISSING_PARAMS', /^password must not be made of/);
    expect((await accept(PASSWORD)).status).toBe(200);
  });

  it('but never to a password that somebody has already', async () => {
    const email = await createBrowser(service).signUp();
    const { createPasswords } = await import('../../src/identity/people/passwords.js');
    const passwordHash = await createPasswords().hash('administrator');
    await service.database.users.updateOne({ email }, { $set: { passwordHash } });
    expect((await createBrowser(service).post('/portal/log-in', { email, password: 'administrator' })).status).toBe(
      200,
    );
  });
});
