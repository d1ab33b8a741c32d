import { readFileSync, writeFileSync } from 'node:fs';
import { healthPatch } from './argocd/health-patch.ts';
import { apiPage } from './reference/api-page.ts';
import { chartPage, endpointChartPage } from './reference/chart-page.ts';
import { commandLinePage } from './reference/command-line-page.ts';
import { fixesModule } from './reference/fixes-module.ts';
import { metricsPage } from './reference/metrics-page.ts';
import { reasonsPage } from './reference/reasons-page.ts';
import { settingsPage } from './reference/settings-page.ts';

const pages = {
  'docs/reference/api.md': apiPage,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/reasons.md': reasonsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/chart.md': chartPage,
  'docs/reference/direct-endpoint-chart.md': endpointChartPage,
  'docs/reference/command-line.md': commandLinePage,
  'src/page/generated/fixes.js': fixesModule,
  'config/argocd/argocd-cm-patch.yaml': healthPatch,
};

const check = process.argv.includes('--check');

for (const [file, render] of Object.entries(pages)) {
  if (!check) writeFileSync(file, render());
  else if (readFileSync(file, 'utf8') !== render()) {
    console.error(`${file} is not what the code says: run npm run generate`);
    process.exitCode = 1;
  }
}
