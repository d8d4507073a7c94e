package plots

import "testing"

// BenchmarkCostFigure measures the cost figures on as much as they take, from
// data to a written SVG, and the size of that SVG; the aims are 300 ms and 500 kB.
func BenchmarkCostFigure(b *testing.B) {
	const n = 262144
	x, falling := logSpace(1, 1e9, n), logSpace(1e9, 1, n)
	growth := linear(-0.5, 0.5, n)
	speculative := CostSpeculativeData{Alpha: linear(0, 1, 120), Panels: []CostSpeculativePanel{{Name: "v"}}}
	for g := range 40 {
		speculative.Gamma = append(speculative.Gamma, float64(g+1))
		speculative.Panels[0].Speedup = append(speculative.Panels[0].Speedup, mapped(speculative.Alpha, func(a float64) float64 { return 0.3 + a*float64(g) }))
	}
	rows := []struct {
		name string
		draw func() (*Figure, error)
	}{
		{costLifetimeName, func() (*Figure, error) {
			return CostLifetime(CostLifetimeData{Training: 1e5, Tokens: x, Inference: x, Lo: mapped(x, func(v float64) float64 { return 0.5 * v }), Hi: mapped(x, func(v float64) float64 { return 2 * v })}, Options{})
		}},
		{costBatchName, func() (*Figure, error) {
			return CostBatch(CostBatchData{Series: []CostBatchSeries{{Batch: x, StepMS: x, Measured: x, MeasuredMS: x}}}, Options{})
		}},
		{costContextName, func() (*Figure, error) {
			return CostContext(CostContextData{Series: []CostContextSeries{{Context: x, Cost: x}}}, Options{})
		}},
		{costFrontierName, func() (*Figure, error) {
			return CostFrontier(CostFrontierData{Series: []CostFrontierSeries{{Batch: x, PerUser: falling, Y: x}}}, Options{})
		}},
		{costQualityName, func() (*Figure, error) {
			return CostQuality(CostQualityData{Series: []CostQualitySeries{{Cost: x, Quality: x}}}, Options{})
		}},
		{costGrowthName, func() (*Figure, error) {
			return CostGrowth(CostGrowthData{Levels: []CostGrowthLevel{{Growth: growth, Days: falling}}}, Options{})
		}},
		{costOptimumName, func() (*Figure, error) {
			return CostOptimum(CostOptimumData{Panels: []CostOptimumPanel{{Curves: []CostOptimumCurve{{Params: x, FLOP: x}}}}}, Options{})
		}},
		{costSpeculativeName, func() (*Figure, error) { return CostSpeculative(speculative, Options{}) }},
		{costRooflineName, func() (*Figure, error) { return CostRoofline(exampleRoofline(), Options{}) }},
		{costStepName, func() (*Figure, error) { return CostStep(exampleStepTime(), Options{}) }},
		{costBillName, func() (*Figure, error) { return CostBill(exampleBill(), Options{}) }},
		{costDriversName, func() (*Figure, error) { return CostDrivers(exampleDrivers(), Options{}) }},
	}
	for _, r := range rows {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				f, err := r.draw()
				if err != nil {
					b.Fatal(err)
				}
				var size counter
				if err := f.SVG(&size); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(size)/1000, "kB")
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
		})
	}
}
