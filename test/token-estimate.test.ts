// The estimate of tokens stays within a factor of 2 of a real tokenizer. (spec: planner 8)

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { estimateTokens } from '../domain/compaction.ts';

const file = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
/** Bytes that look random and are the same in every run. */
const bytes = (count: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(count / 32) }, (_, n) => createHash('sha256').update(`block ${n}`).digest()),
  ).subarray(0, count);

const sentences: Record<string, string> = {
  English: 'The planner reads the tracker, and changes the plan only by proposing a changeset that a human applies.',
  German: 'Die Bestellung wird ausgelöst, sobald der Kunde die Zahlungsbedingungen bestätigt hat; Fußgängerübergänge fehlen.',
  French: "Lorsque l'utilisateur a confirmé sa commande, l'équipe reçoit une notification dès le lendemain matin.",
  Polish: 'Gdy użytkownik potwierdzi zamówienie, zespół otrzyma powiadomienie i przygotuje wysyłkę następnego dnia.',
  Turkish: 'Kullanıcı siparişini onayladıktan sonra ekip bildirim alır ve ertesi sabah gönderimi hazırlar.',
  Vietnamese: 'Khi người dùng xác nhận đơn hàng, nhóm nhận được thông báo và chuẩn bị giao hàng vào sáng hôm sau.',
  Chinese: '规划器是人与模型共同制定项目计划的对话。模型通过工具读取任务、技能和知识库。',
  Japanese: 'プランナーは、人間とモデルが一緒にプロジェクトの計画を作る会話です。',
  Hangul: '플래너는 사람과 모델이 함께 프로젝트 계획을 만들어 가는 대화입니다.',
  'Hangul without spaces': '플래너는사람과모델이함께프로젝트계획을만들어가는대화입니다모델은도구를통해작업과기술을읽습니다',
  Cyrillic: 'Планировщик — это разговор, в котором человек и модель вместе составляют план проекта.',
  Greek: 'Ο σχεδιαστής είναι μια συνομιλία στην οποία ένας άνθρωπος και ένα μοντέλο διαμορφώνουν το σχέδιο.',
  Arabic: 'المخطط هو محادثة يشكل فيها الإنسان والنموذج خطة المشروع معًا.',
  Hebrew: 'המתכנן הוא שיחה שבה אדם ומודל מעצבים יחד את תוכנית הפרויקט.',
  Hindi: 'योजनाकार एक वार्तालाप है जिसमें एक मानव और एक मॉडल मिलकर परियोजना की योजना बनाते हैं।',
  Thai: 'ผู้วางแผนคือบทสนทนาที่มนุษย์และโมเดลร่วมกันกำหนดแผนของโครงการ',
  Amharic: 'እቅድ አውጪው ሰው እና ሞዴል አብረው የፕሮጀክት እቅድ የሚቀርጹበት ውይይት ነው።',
};

const items = Array.from({ length: 60 }, (_, n) => ({
  key: `WEB-${n + 1}`,
  kind: 'ticket',
  title: `Ticket number ${n} of the shop`,
  state: 'backlog',
  acceptance_criteria: ['It works.', 'It is tested.'],
}));

const samples: Record<string, string> = {
  ...sentences,
  'a page of Markdown': file('docs/architecture.md'),
  TypeScript: file('planner/deltas.ts'),
  SQL: file('store/migrations/0001_foundation.sql'),
  'compact JSON': JSON.stringify(items),
  'indented JSON': JSON.stringify(items, null, 2),
  'JSON of numbers': JSON.stringify(Array.from({ length: 400 }, (_, n) => [n, Math.sin(n)])),
  'minified code': 'function a(b,c){for(var d=0;d<b.length;d++)if(b[d]!==c[d])return!1;return!0}'.repeat(8),
  'emoji only': '😀🚀🎉🔥👍❤️🛒📦🧪🧭🚧🛰️👩‍💻🇩🇪✅❌⚠️💡',
  'one emoji again and again': '😀'.repeat(300),
  base64: bytes(30_000).toString('base64'),
  'base64 in lines': bytes(30_000).toString('base64').replace(/.{76}/g, '$&\n'),
  hexadecimal: bytes(3_000).toString('hex'),
  ids: Array.from({ length: 50 }, (_, n) => bytes(16 * (n + 1)).toString('hex', 16 * n).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')).join('\n'),
  'a table': '| key | state | number |\n|---|---|--:|\n| WEB-1 | open | 17 |\n'.repeat(20),
  CSV: Array.from({ length: 100 }, (_, n) => `${n},2024-05-${10 + (n % 20)}T17:20:${10 + n}Z,${n * 7}.31,ok`).join('\n'),
  'a ruler': '-'.repeat(400),
  'much white space': ' \n\t\n  \n'.repeat(60),
};

const ratio = (text: string): number => estimateTokens(text) / countTokens(text);

describe('spec: planner 8.3: within a factor of 2 of a real tokenizer', () => {
  test.for(Object.entries(samples))('%s', ([, text]) => {
    expect(ratio(text)).toBeGreaterThan(0.5);
    expect(ratio(text)).toBeLessThan(2);
  });

  test('reports c19: base64 of 1 MB, in a moment', () => {
    const text = bytes(786_432).toString('base64');
    expect(text).toHaveLength(1_048_576);
    const begun = performance.now();
    const tokens = estimateTokens(text);
    expect(performance.now() - begun).toBeLessThan(1_000);
    // The tokenizer takes seconds for all of it; base64 is the same everywhere.
    const measured = countTokens(text.slice(0, 65_536)) * 16;
    expect(tokens / measured).toBeGreaterThan(0.5);
    expect(tokens / measured).toBeLessThan(2);
  });

  test('any mixture of them', () => {
    const texts = Object.values(samples).map((text) => text.slice(0, 2_000));
    const part = fc.tuple(fc.constantFrom(...texts), fc.constantFrom(' ', '\n', '\n\n', ''));
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 8 }), (parts) => {
        const text = parts.flat().join('');
        expect(ratio(text)).toBeGreaterThan(0.5);
        expect(ratio(text)).toBeLessThan(2);
      }),
      { numRuns: 150 },
    );
  });

  test('JSON of any shape', () => {
    const key = fc.constantFrom('key', 'title', 'acceptance_criteria', 'depends_on', 'createdAt', 'n');
    const words = fc.array(fc.constantFrom(...sentences.English!.split(' ')), { minLength: 1, maxLength: 12 });
    const leaf = fc.oneof(words.map((list) => list.join(' ')), fc.nat({ max: 100_000 }), fc.boolean(), fc.constant(null));
    const object = fc.dictionary(key, fc.oneof(leaf, fc.array(leaf, { maxLength: 4 })), { minKeys: 3 });
    fc.assert(
      fc.property(fc.array(object, { minLength: 3, maxLength: 20 }), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(ratio(text)).toBeGreaterThan(0.5);
        expect(ratio(text)).toBeLessThan(2);
      }),
      { numRuns: 150 },
    );
  });
});

test('spec: planner 8.3: the rates by script: Latin 4 characters a token, CJK and kana 1, other scripts 2.5, unbroken runs 1.4', () => {
  expect(estimateTokens('characters'.repeat(40))).toBe(100);
  expect(estimateTokens('计划')).toBe(2);
  expect(estimateTokens('かな')).toBe(2);
  expect(estimateTokens('планпланпл')).toBe(4);
  expect(estimateTokens('a1B2c3D4e5F6g7H8i9J0k1L2m3N4')).toBe(20);
  expect(estimateTokens('')).toBe(0);
});

test('reports c19: surrogate pairs count once, half of one is no error, and any text has an estimate', () => {
  expect(estimateTokens('𠀋𠀋')).toBe(2 * estimateTokens('𠀋'));
  expect(estimateTokens('\ud83d')).toBeGreaterThan(0);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      const tokens = estimateTokens(text);
      expect(Number.isInteger(tokens)).toBe(true);
      expect(tokens).toBeGreaterThanOrEqual(text.trim() === '' ? 0 : 1);
      expect(tokens).toBeLessThanOrEqual(3 * text.length);
    }),
  );
});
