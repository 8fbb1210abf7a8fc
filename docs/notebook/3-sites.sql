-- Where did the work go, and how clean was the energy there?
SELECT j.policy, j.site,
       count(*) AS jobs,
       sum(j.energy_kwh) AS energy_kwh,
       sum(j.carbon_kg) AS carbon_kg,
       1000 * sum(j.carbon_kg) / nullif(sum(j.energy_kwh), 0) AS carbon_g_per_kwh,
       1000 * sum(j.energy_usd) / nullif(sum(j.energy_kwh), 0) AS price_usd_per_mwh,
       any_value(s.idle_energy_kwh) AS idle_energy_kwh
FROM jobs AS j JOIN sites AS s ON s.policy = j.policy AND s.site = j.site
GROUP BY j.policy, j.site
ORDER BY j.policy, energy_kwh DESC
