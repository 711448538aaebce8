import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

const person = { email: 'ada.lovelace@analytical.example', name: 'Ada Byron', account_name: 'Engine Works' };
const signUp = (password: string) => createBrowser(service).post('/portal/sign-up', { ...person, password });

describe('a common password is rejected', () => {
  it.each([
    ['from the list', 'administrator'],
    ['from the list in capitals', 'UNBELIEVABLE'],
    ['with digits after it', 'dragon123456'],
    ['with digits and punctuation around it', '2024!!Sunshine!!'],
    ['with letters replaced', 'P@ssw0rd2024'],
    ['with spaces between', 'i l o v e y o u !'],
    ['repeated to reach the length', 'passwordpassword'],
    ['repeated with digits', 'Football1football1'],
    ['of one character', '000000000000'],
    ['of a repeated group', 'abcabcabcabc'],
    ['of adjacent keys', 'qwertyuiop12'],
    ['of adjacent keys backwards', 'poiuytrewq!!'],
    ['of the alphabet', 'abcdefghijkl'],
    ['of digits in order', '123456789012'],
    ['of several runs', 'zxcvbnm12345'],
  ])('%s', async (_name, password) => {
    const response = await signUp(password);
    expectError(response, 400, 'MISSING_PARAMS', /^password is too common\. .*four/);
    expect(response.json['fields']).toEqual({ password: response.json['message'] });
  });
});

describe('a password made of personal data is rejected', () => {
  it.each([
    ['the e-mail address', 'ada.lovelace@analytical.example'],
    ['the part before the @', 'Ada.Lovelace'],
    ['the part before the @ with a year', 'adalovelace1815'],
    ['the domain', 'analytical-2024!'],
    ['the name', 'ByronAda!!2024'],
    ['the name of the account', 'engineworks99'],
    ['the name of this service', 'Callwright-2024'],
    ['several of these', 'callwright.lovelace'],
    ['one of these and a common word', 'lovelace-password'],
  ])('%s', async (_name, password) => {
    const response = await signUp(password);
    expectError(response, 400, 'MISSING_PARAMS', /^password must not consist of .* Choose/);
    expect(response.json['fields']).toEqual({ password: response.json['message'] });
  });
});

it.each([PASSWORD, 'another horse battery', 'hZ8#kq2vLw9x', 'Ada likes seven violet umbrellas', 'mnbvcxz likes cake'])(
  'an ordinary password is accepted: %s',
  async (password) => {
    const email = `${Buffer.from(password).toString('hex')}@example.com`;
    const response = await createBrowser(service).post('/portal/sign-up', { ...person, email, password });
    expect(response.status).toBe(200);
  },
);

describe('the check applies wherever a password is chosen', () => {
  it('when a password is changed: the error names the field, and the old password remains', async () => {
    const owner = createBrowser(service);
    const email = await owner.signUp();
    for (const weak of ['dragon123456', `${email}`]) {
      const response = await owner.post('/portal/password', { current_password: PASSWORD, new_password: weak });
      expectError(response, 400, 'MISSING_PARAMS', /^new_password /);
      expect(response.json['fields']).toHaveProperty('new_password');
    }
    expect((await createBrowser(service).post('/portal/log-in', { email, password: PASSWORD })).status).toBe(200);
  });

  it('when an invitation is accepted: a rejected password does not use it up', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { json } = await owner.post('/portal/invitations', { email: 'hopper@cobol.example', role: 'viewer' });
    const accept = (password: string) =>
      createBrowser(service).post('/portal/accept-invitation', { token: json['token'], name: 'Grace', password });
    expectError(await accept('dragon123456'), 400, 'MISSING_PARAMS', /^password is too common/);
    expectError(await accept('hopper@cobol.example'), 400, 'MISSING_PARAMS', /^password must not consist of/);
    expect((await accept(PASSWORD)).status).toBe(200);
  });

  it('except to an existing password', async () => {
    const email = await createBrowser(service).signUp();
    const { createPasswords } = await import('../../src/identity/people/passwords.js');
    const passwordHash = await createPasswords().hash('administrator');
    await service.database.users.updateOne({ email }, { $set: { passwordHash } });
    expect((await createBrowser(service).post('/portal/log-in', { email, password: 'administrator' })).status).toBe(
      200,
    );
  });
});
