import type { Output } from '../output.js';
import type { Service } from './service.js';

export async function listVoices({ client }: Service, out: Output): Promise<void> {
  const response = await client.get('/voices');
  if (out.json) return out.record('', response);
  const rows = response.voices.flatMap(({ voice, description, engines }) =>
    engines.map(({ engine, languages }) => ({ voice, description, engine, languages: languages.join(' ') })),
  );
  await out.table(rows, { voice: 'Voice', description: 'Description', engine: 'Engine', languages: 'Languages' });
}

export async function listLanguages({ client }: Service, out: Output): Promise<void> {
  const response = await client.get('/languages');
  if (out.json) return out.record('', response);
  const rows = response.languages.flatMap(({ language, name, engines }) =>
    engines.map(({ engine, voices }) => ({ language, name, engine, voices: voices.join(' ') })),
  );
  await out.table(rows, { language: 'Language', name: 'Name', engine: 'Engine', voices: 'Voices' });
}
